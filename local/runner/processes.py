"""The owner's side of the nursery: start a process, kill it, hear of its end at once."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

NURSERY = Path(__file__).with_name("nursery.py")
START_SECONDS = 10.0
END_SECONDS = 10.0
KILLED = -9


class ProcessStartError(Exception):
    """A function's process could not be started; the text says why."""


@dataclass(frozen=True)
class Program:
    """What to run, where, with which environment, and the file that takes its output."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    log: Path

    def as_order(self, number: int) -> dict[str, Any]:
        """Return the order to start it, as the nursery reads it."""
        return {
            "id": number,
            "command": list(self.command),
            "folder": str(self.folder),
            "environment": dict(self.environment),
            "log": str(self.log),
        }


class Process:
    """One process that the nursery keeps."""

    def __init__(self, number: int, pid: int, order: Callable[[dict[str, Any]], None]) -> None:
        """Remember how to reach it."""
        self.pid = pid
        self._number = number
        self._order = order

    def kill(self) -> None:
        """Kill it and everything it started; its end is told as any other."""
        self._order({"id": self._number})


class Nursery:
    """One process that starts and keeps others."""

    def __init__(self) -> None:
        """Start it."""
        self._lock = threading.Lock()
        self._answers: dict[int, SimpleQueue[dict[str, Any]]] = {}
        self._on_end: dict[int, Callable[[int], None]] = {}
        self._pids: dict[int, int] = {}
        # Its own session: Ctrl-C at the terminal reaches the owner alone, who then stops us in
        # order. -I -S: nothing of the environment or the installed packages can change it.
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-S", str(NURSERY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._popen.pid
        self._listener = threading.Thread(target=self._listen, name="nursery", daemon=True)
        self._listener.start()

    @property
    def has_ended(self) -> bool:
        """Tell whether it is gone, and every process with it."""
        return self._popen.poll() is not None

    def start(self, number: int, program: Program, on_end: Callable[[int], None]) -> Process:
        """Start a process; on_end gets its exit code, negative for a signal."""
        answer: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._answers[number] = answer
        self._on_end[number] = on_end
        self._order(program.as_order(number))
        try:
            told = answer.get(timeout=START_SECONDS)
        except Empty:
            told = {"failed": "the nursery does not answer"}
        del self._answers[number]
        if "pid" not in told:
            self._on_end.pop(number, None)
            raise ProcessStartError(f"{program.command[0]} could not be run: {told['failed']}")
        return Process(number, told["pid"], self._order)

    def close(self) -> None:
        """End it with every process, and wait until they are gone."""
        assert self._popen.stdin is not None
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._popen.stdin.close()
        try:
            self._popen.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._listener.join(END_SECONDS)

    def _order(self, order: dict[str, Any]) -> None:
        assert self._popen.stdin is not None
        # Where it has ended, the listener tells of every process's end.
        with self._lock, contextlib.suppress(BrokenPipeError):
            if not self._popen.stdin.closed:
                self._popen.stdin.write(json.dumps(order).encode() + b"\n")
                self._popen.stdin.flush()

    def _listen(self) -> None:
        assert self._popen.stdout is not None
        with self._popen.stdout as lines:
            for line in lines:
                told = json.loads(line)
                if "code" in told:
                    del self._pids[told["id"]]
                    self._on_end.pop(told["id"])(told["code"])
                else:
                    if "pid" in told:
                        self._pids[told["id"]] = told["pid"]
                    self._answers[told["id"]].put(told)
        # It has ended, and Linux has killed its children; what those started is left to us.
        for number, on_end in tuple(self._on_end.items()):
            with contextlib.suppress(KeyError, ProcessLookupError, PermissionError):
                os.killpg(self._pids[number], signal.SIGKILL)
            on_end(KILLED)


class Processes:
    """All processes of one owner. They live no longer than it does, however it ends."""

    def __init__(self) -> None:
        """Begin with none; the nursery starts with the first."""
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._nursery: Nursery | None = None
        self._is_closed = False

    @property
    def nursery_pid(self) -> int:
        """Return the process id of the nursery, 0 before the first process."""
        return self._nursery.pid if self._nursery else 0

    def start(self, program: Program, on_end: Callable[[int], None]) -> Process:
        """Start a process; on_end gets its exit code, negative for a signal."""
        return self._living_nursery().start(next(self._numbers), program, on_end)

    def close(self) -> None:
        """Kill every process and wait until they and the nursery are gone."""
        with self._lock:
            self._is_closed = True
        if self._nursery:
            self._nursery.close()

    def _living_nursery(self) -> Nursery:
        with self._lock:
            if self._is_closed:
                raise ProcessStartError("the runner has been stopped")
            if self._nursery and self._nursery.has_ended:
                self._nursery.close()
                self._nursery = None
            if self._nursery is None:
                self._nursery = Nursery()
            return self._nursery
