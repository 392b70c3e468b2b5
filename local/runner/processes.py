"""The owner's side of the nursery: start a process, kill it, hear of its end at once."""

import contextlib
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

NURSERY = Path(__file__).with_name("nursery.py")
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

    def __init__(self, number: int, order: Callable[[dict[str, Any]], None]) -> None:
        """Remember how to reach it."""
        self.number = number
        self.pid = 0
        self._order = order

    def kill(self) -> None:
        """Kill it and everything it started; its end is told as any other."""
        self._order({"id": self.number})


class Processes:
    """All processes of one owner. They live no longer than it does, however it ends."""

    def __init__(self) -> None:
        """Begin with none; the nursery starts with the first."""
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._answers: dict[int, SimpleQueue[dict[str, Any]]] = {}
        self._on_end: dict[int, Callable[[int], None]] = {}
        self._nursery: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None
        self._is_closed = False

    @property
    def nursery_pid(self) -> int:
        """Return the process id of the nursery, 0 before the first process."""
        return self._nursery.pid if self._nursery else 0

    def start(self, program: Program, on_end: Callable[[int], None]) -> Process:
        """Start a process; on_end gets its exit code, negative for a signal."""
        number = next(self._numbers)
        process = Process(number, self._order)
        answer: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._answers[number] = answer
        self._on_end[number] = on_end
        try:
            self._order(program.as_order(number))
            told = answer.get(timeout=END_SECONDS)
        finally:
            del self._answers[number]
        if "pid" not in told:
            self._on_end.pop(number, None)
            raise ProcessStartError(f"{program.command[0]} could not be run: {told['failed']}")
        process.pid = told["pid"]
        return process

    def close(self) -> None:
        """Kill every process and wait until they and the nursery are gone."""
        with self._lock:
            self._is_closed = True
            nursery, listener = self._nursery, self._listener
            if nursery is None or listener is None:
                return
            assert nursery.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                nursery.stdin.close()
        try:
            nursery.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            nursery.kill()
            nursery.wait()
        listener.join(END_SECONDS)

    def _order(self, order: dict[str, Any]) -> None:
        with self._lock:
            if self._is_closed and "command" in order:
                raise ProcessStartError("the runner has been stopped")
            if not self._is_closed:
                self._write(json.dumps(order).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        if self._nursery is None:
            self._open()
        assert self._nursery is not None
        assert self._nursery.stdin is not None
        try:
            self._nursery.stdin.write(line)
            self._nursery.stdin.flush()
        except BrokenPipeError as error:
            raise ProcessStartError("the process that keeps the functions has ended") from error

    def _open(self) -> None:
        # Its own session: Ctrl-C at the terminal reaches the owner alone, who then stops us in
        # order. -I -S: nothing of the environment or the installed packages can change it.
        nursery = subprocess.Popen(
            [sys.executable, "-I", "-S", str(NURSERY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._nursery = nursery
        self._listener = threading.Thread(
            target=self._listen, args=(nursery,), name="nursery", daemon=True
        )
        self._listener.start()

    def _listen(self, nursery: "subprocess.Popen[bytes]") -> None:
        assert nursery.stdout is not None
        with nursery.stdout as lines:
            for line in lines:
                told = json.loads(line)
                if "code" in told:
                    self._on_end.pop(told["id"])(told["code"])
                else:
                    self._answers[told["id"]].put(told)
        # The nursery has ended, and every process with it.
        while self._on_end:
            self._on_end.popitem()[1](KILLED)
