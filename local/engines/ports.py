"""The ports of one stack: the same over restarts, so that what was set up for them still works."""

import contextlib
import random
import socket
from collections.abc import Callable, Collection
from pathlib import Path

from local.engines.errors import EngineStartError
from local.files import read_json, write_json

# Below the range from which systems take ports for outgoing connections, so that none of those
# takes ours in the seconds until the engine has it.
FIRST_PORT, LAST_PORT = 18000, 29999
FILE = "ports.json"


class Ports:
    """Gives each part of a stack its port, and remembers it in the stack's folder."""

    def __init__(self, folder: Path, log: Callable[[str], None]) -> None:
        self._file = folder / FILE
        self._log = log
        self._remembered = read_json(self._file)
        self._given: set[int] = set()

    def take(self, part: str, *, asked: int | None = None) -> int:
        """Return the port of a part: the one asked for, or that of the last time if it is free."""
        before = self._remembered.get(part)
        if asked is not None:
            if reason := why_taken(asked):
                raise EngineStartError(
                    f"port {asked} cannot be used: {reason}. Choose another one with --port, or"
                    " leave --port out"
                )
            port = asked
        elif before is not None and before not in self._given and why_taken(before) is None:
            port = before
        else:
            port = free_port(self._given)
            if before is not None:
                self._log(f"{part}: port {before} is taken by another program, now {port}")
        self._given.add(port)
        if port != before:
            self._remembered[part] = port
            write_json(self._file, self._remembered)
        return port


def free_port(others: Collection[int] = ()) -> int:
    """Return a port on which nothing listens, on any interface, and that is none of the others."""
    for port in random.sample(range(FIRST_PORT, LAST_PORT + 1), k=200):
        if port not in others and why_taken(port) is None:
            return port
    raise EngineStartError(f"no free port between {FIRST_PORT} and {LAST_PORT}")


def why_taken(port: int) -> str | None:
    """Return why no server can be bound to a port; None if one can."""
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            return error.strerror.lower() if error.strerror else str(error)
    return None
