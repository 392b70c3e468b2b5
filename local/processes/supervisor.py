"""Run child processes and end all of them with their owner: a script of the standard library.

One single-threaded process for all, because Linux ties the request to die with the parent to the
thread that forked. Orders come as JSON lines on standard input, which the kernel closes when the
owner exits, also by SIGKILL. Starts and ends are reported as JSON lines on standard output.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
# A forked child of the owner may hold the pipe open after the owner's end: check the parent too.
PARENT_CHECK_SECONDS = 1.0
STOP_CHECK_SECONDS = 0.05
END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def die_with_supervisor(supervisor: int) -> None:
    """Ask Linux, in the child before its program starts, to kill it with the supervisor.

    The kernel drops the request when the user changes, so it must come after setuid, which is
    where subprocess calls this.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:  # It ended before the request was made.
        os._exit(1)


class Child:
    """One program in a process group of its own."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._grace_seconds: float = order["grace_seconds"]
        self._remove: str | None = order["remove"]
        self._kill_at: float | None = None
        user = order["user"]
        with Path(order["log"]).open("ab") as log:
            self.popen = subprocess.Popen(
                order["command"],
                cwd=order["folder"],
                env=order["environment"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=partial(die_with_supervisor, os.getpid()),
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )

    @property
    def is_stopping(self) -> bool:
        return self._kill_at is not None

    def stop(self) -> None:
        """Ask it to end; it is killed when its grace is over."""
        if not self.is_stopping:
            self._kill_at = time.monotonic() + self._grace_seconds
            if self._grace_seconds:
                self._signal(signal.SIGTERM)
        self.check()

    def check(self) -> bool:
        """Return whether it has ended; kill what is left of its group then, or after its grace."""
        has_ended = self.popen.poll() is not None
        if has_ended or (self._kill_at is not None and time.monotonic() >= self._kill_at):
            self._signal(signal.SIGKILL)
        if has_ended and self._remove:
            shutil.rmtree(self._remove, ignore_errors=True)
        return has_ended

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, number)


class Supervisor:
    """The children that were started and have not ended."""

    def __init__(self) -> None:
        self._children: dict[int, Child] = {}
        self._unread = b""
        # A byte arrives in this pipe when a child has ended.
        self._ends, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Follow orders until the owner closes our standard input or is gone."""
        owner = os.getppid()
        while os.getppid() == owner:
            if 0 in self._wait(0):
                got = os.read(0, 1 << 16)
                if not got:
                    return
                *orders, self._unread = (self._unread + got).split(b"\n")
                for order in orders:
                    self._follow(json.loads(order))
            self._reap()

    def end(self) -> None:
        """Stop every child and wait until all are gone."""
        for child in self._children.values():
            child.stop()
        self._reap()
        while self._children:
            self._wait()
            self._reap()

    def _wait(self, *inputs: int) -> list[int]:
        """Wait for an input, the end of a child or the next check; return what is readable."""
        stopping = any(child.is_stopping for child in self._children.values())
        seconds = STOP_CHECK_SECONDS if stopping else PARENT_CHECK_SECONDS
        readable, _, _ = select.select([*inputs, self._ends], [], [], seconds)
        if self._ends in readable:
            os.read(self._ends, 4096)
        return readable

    def _follow(self, order: dict[str, Any]) -> None:
        number = order["id"]
        if "command" not in order:
            if number in self._children:
                self._children[number].stop()
            return
        try:
            self._children[number] = Child(order)
        except (OSError, subprocess.SubprocessError) as error:
            report(id=number, failed=str(error))
        else:
            report(id=number, pid=self._children[number].popen.pid)

    def _reap(self) -> None:
        for number, child in tuple(self._children.items()):
            if child.check():
                del self._children[number]
                report(id=number, code=child.popen.returncode)


def report(**event: Any) -> None:
    """Write an event for the owner, who may be gone; its processes must still be ended."""
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(event), flush=True)


def main() -> None:
    """Serve the owner, and leave no process."""
    for number in END_SIGNALS:
        signal.signal(number, lambda *_: sys.exit(0))
    supervisor = Supervisor()
    try:
        supervisor.serve()
    finally:
        for number in END_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        supervisor.end()


if __name__ == "__main__":
    main()
