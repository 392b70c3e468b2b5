"""Refuse connections beyond this machine, in this Python and in every Python that it starts.

Python imports a module of this name at its start when PYTHONPATH has its folder.
"""

import ipaddress
import socket
import sys
from typing import Any

LOCAL_NAMES = {"localhost", socket.gethostname()}
# Events with an address beside the socket: https://docs.python.org/3/library/audit_events.html
CONNECTING = {"socket.connect", "socket.sendto", "socket.sendmsg"}


class BeyondThisMachineError(ConnectionRefusedError):
    """A test asked for an address that is not this machine's."""


def refuse_others() -> None:
    """Watch every connection from now on; there is no way back."""
    sys.addaudithook(_check)


def is_here(host: object) -> bool:
    """Return whether a host name or address is this machine's own."""
    if not isinstance(host, (str, bytes)):
        return host is None
    name = host.decode() if isinstance(host, bytes) else host
    if name in LOCAL_NAMES or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == ""
    return address.is_loopback or address.is_unspecified


def _check(event: str, arguments: tuple[Any, ...]) -> None:
    if event in CONNECTING:
        address = arguments[1]
        # The address of a Unix socket is a path; a connected socket sends without an address.
        host = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if not is_here(host):
        raise BeyondThisMachineError(f"a test may not reach {host}: only this machine")


if __name__ == "sitecustomize":
    refuse_others()
