"""Start function processes and end all of them with their owner: a script of the standard library.

One single-threaded process for all, because Linux ties the request to die with the parent to the
thread that forked. Orders come as JSON lines on standard input, which the kernel closes when the
owner exits, also by SIGKILL; what happened goes as JSON lines to standard output.
"""

import contextlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

WATCHER = Path(__file__).parents[1] / "engines" / "watcher.py"
# A forked child of the owner may hold the pipe open after the owner's end: look at the parent too.
PARENT_CHECK_SECONDS = 1.0

Child = subprocess.Popen[bytes]


class Nursery:
    """The processes that were started and have not been seen to end."""

    def __init__(self) -> None:
        """Start with none."""
        self._children: dict[int, Child] = {}
        # Not an import: this script runs without the packages that local.engines needs.
        watcher = runpy.run_path(str(WATCHER))
        self._start_child = watcher["start"]
        self._signal_group = watcher["signal_group"]

    def obey(self, order: dict[str, Any]) -> None:
        """Start a process or kill one with all that it started."""
        if "command" in order:
            self._start(order)
        elif order["id"] in self._children:
            self._kill(self._children[order["id"]])

    def reap(self) -> None:
        """Tell of every process that has ended, and end what it left behind."""
        for number, child in tuple(self._children.items()):
            if child.poll() is not None:
                del self._children[number]
                self._kill(child)
                _tell(id=number, code=child.returncode)

    def end(self) -> None:
        """Kill everything."""
        for child in self._children.values():
            self._kill(child)
        for child in self._children.values():
            child.wait()

    def _start(self, order: dict[str, Any]) -> None:
        try:
            child: Child = self._start_child(order)
        except (OSError, subprocess.SubprocessError) as error:
            _tell(id=order["id"], failed=str(error))
            return
        self._children[order["id"]] = child
        _tell(id=order["id"], pid=child.pid)

    def _kill(self, child: Child) -> None:
        self._signal_group(child, signal.SIGKILL)


def _tell(**what: Any) -> None:
    # The owner may be gone already; its processes must still be ended.
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(what), flush=True)


def _ends_of_children() -> int:
    """Return a file descriptor that becomes readable when a child has ended."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def serve(nursery: Nursery) -> None:
    """Obey until the owner has closed our standard input or has gone."""
    owner = os.getppid()
    ended = _ends_of_children()
    unread = b""
    while os.getppid() == owner:
        readable, _, _ = select.select([0, ended], [], [], PARENT_CHECK_SECONDS)
        if ended in readable:
            os.read(ended, 4096)
        if 0 in readable:
            got = os.read(0, 1 << 16)
            if not got:
                return
            *orders, unread = (unread + got).split(b"\n")
            for order in orders:
                nursery.obey(json.loads(order))
        nursery.reap()


def main() -> None:
    """Serve the owner, and leave nothing behind."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    nursery = Nursery()
    try:
        serve(nursery)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        nursery.end()


if __name__ == "__main__":
    main()
