"""The owner's side of the supervisor: start a program, stop it, and learn of its end at once."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SUPERVISOR = Path(__file__).with_name("supervisor.py")
START_SECONDS = 10.0
# After the longest grace of its programs.
END_SECONDS = 10.0
KILLED = -9


class ProcessStartError(Exception):
    """A process could not be started; the text says why."""


@dataclass(frozen=True)
class Program:
    """What to run, where, with which environment, and the file that takes its output."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    log: Path
    user: int | None = None  # another user, for root only
    grace_seconds: float = 0.0  # between SIGTERM and SIGKILL; 0 kills at once
    remove: Path | None = None  # a folder that goes with the process, also if the owner is killed


class Process:
    """One program that was started."""

    def __init__(self, program: Program, stop: Callable[[], None], on_end: Callable[[int], None]):
        self.program = program
        self.stop = stop  # ends it and everything it started, without waiting for that
        self.pid = 0
        self.start_error = "the supervisor does not answer"
        self._on_end = on_end
        self._answered = threading.Event()
        self._ended = threading.Event()

    @property
    def has_ended(self) -> bool:
        """Return whether it has ended, by itself or stopped."""
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False if it does not come in time."""
        return self._ended.wait(seconds)

    def wait_for_start(self) -> None:
        """Return when it has a pid; raise if it could not be started."""
        self._answered.wait(START_SECONDS)
        if not self.pid:
            raise ProcessStartError(
                f"{self.program.command[0]} could not be run: {self.start_error}"
            )

    def take(self, event: Mapping[str, Any]) -> None:
        """Note what the supervisor reports of it."""
        if "code" in event:
            # First, so that its end was reported when `wait` returns.
            self._on_end(event["code"])
            self._ended.set()
        else:
            self.pid = event.get("pid", 0)
            self.start_error = event.get("failed", "")
            self._answered.set()


class _Supervisor:
    """One supervisor process, and the processes that it keeps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: dict[int, Process] = {}
        self._grace_seconds = 0.0
        # Its own session: Ctrl-C at the terminal reaches the owner alone, who then stops us in
        # order. -I -S: nothing of the environment or the installed packages can change it.
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISOR)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._popen.pid
        self._listener = threading.Thread(target=self._listen, name="supervisor", daemon=True)
        self._listener.start()

    @property
    def has_ended(self) -> bool:
        return self._popen.poll() is not None

    def start(self, number: int, program: Program, on_end: Callable[[int], None]) -> Process:
        process = Process(program, lambda: self._send({"id": number}), on_end)
        self._processes[number] = process
        self._grace_seconds = max(self._grace_seconds, program.grace_seconds)
        self._send({"id": number, **asdict(program)})
        try:
            process.wait_for_start()
        except ProcessStartError:
            self._processes.pop(number, None)
            raise
        return process

    def close(self) -> None:
        assert self._popen.stdin is not None
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._popen.stdin.close()
        try:
            self._popen.wait(END_SECONDS + self._grace_seconds)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._listener.join(END_SECONDS)

    def _send(self, order: dict[str, Any]) -> None:
        assert self._popen.stdin is not None
        # Where it has ended, the listener reports the end of every process.
        with self._lock, contextlib.suppress(BrokenPipeError):
            if not self._popen.stdin.closed:
                self._popen.stdin.write(json.dumps(order, default=str).encode() + b"\n")
                self._popen.stdin.flush()

    def _listen(self) -> None:
        assert self._popen.stdout is not None
        with self._popen.stdout as lines:
            for line in lines:
                event = json.loads(line)
                ended = "code" in event
                known = self._processes
                process = known.pop(event["id"]) if ended else known[event["id"]]
                process.take(event)
        # It has ended, and Linux has killed its children; what those started is left to us.
        for process in tuple(self._processes.values()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if process.pid:
                    os.killpg(process.pid, signal.SIGKILL)
            process.take({"code": KILLED})


class Processes:
    """All child processes of one owner. They end with it, however it ends."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._supervisor: _Supervisor | None = None
        self._is_closed = False

    @property
    def supervisor_pid(self) -> int:
        """Return the process id of the supervisor, 0 before the first process."""
        return self._supervisor.pid if self._supervisor else 0

    def start(self, program: Program, on_end: Callable[[int], None] = lambda _: None) -> Process:
        """Start a process; on_end gets its exit code, negative for a signal."""
        return self._running_supervisor().start(next(self._numbers), program, on_end)

    def close(self) -> None:
        """Stop every process and wait until they and the supervisor are gone."""
        with self._lock:
            self._is_closed = True
        if self._supervisor:
            self._supervisor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _running_supervisor(self) -> _Supervisor:
        with self._lock:
            if self._is_closed:
                raise ProcessStartError("no more processes are started here")
            if self._supervisor and self._supervisor.has_ended:
                self._supervisor.close()
                self._supervisor = None
            if self._supervisor is None:
                self._supervisor = _Supervisor()
            return self._supervisor
