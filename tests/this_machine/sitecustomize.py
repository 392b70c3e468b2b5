"""Refuse what no test may do, in this Python and in every Python that it starts.

No connection beyond this machine, and no look at the checkout's cdk.json, which is its user's.

Python imports a module of this name at its start when PYTHONPATH has its folder.
"""

import ipaddress
import os
import socket
import sys
from typing import Any

LOCAL_NAMES = {"localhost", socket.gethostname()}
# Events with an address beside the socket: https://docs.python.org/3/library/audit_events.html
CONNECTING = {"socket.connect", "socket.sendto", "socket.sendmsg"}
CDK_JSON = os.path.abspath(f"{__file__}/../../../cdk.json")  # noqa: PTH100 - pathlib loads slowly
# Set by the tests of the file itself.
MAY_READ = "EMBEDQ_TESTS_READ_CDK_JSON"


class BeyondThisMachineError(ConnectionRefusedError):
    """A test asked for an address that is not this machine's."""


class UsersFileError(PermissionError):
    """A test asked for what the user of the checkout may change at will."""


def refuse_others() -> None:
    """Watch every connection and file from now on; there is no way back."""
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
    if event == "open":
        _check_file(arguments[0])
        return
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


def _check_file(path: object) -> None:
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
    if (
        isinstance(name, str)
        and name.endswith("cdk.json")
        and os.path.abspath(name) == CDK_JSON  # noqa: PTH100 - as above
        and MAY_READ not in os.environ
    ):
        raise UsersFileError("a test may not read cdk.json: bring a stage of your own")


if __name__ == "sitecustomize":
    refuse_others()
