"""One execution environment: a process of the real runtime client that works one event at a time.

Whatever happens to the process, its invocation ends exactly once.
"""

import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Event, Lock

from local.processes import Process, Processes, ProcessStartError, Program
from local.runner.invocation import Invocation, exited, failed, timed_out
from local.runner.runtime_api import Outcome, Request, RuntimeApi

# Lambda gives the start of a process 10 seconds of its own; after that the start goes on at the
# expense of the first invocation's timeout.
INIT_SECONDS = 10.0
END_SECONDS = 5.0

MakeProgram = Callable[[str], Program]


class Execution:
    """A warm process, or the last moments of one."""

    def __init__(self, processes: Processes, program: MakeProgram) -> None:
        """Start the process; it asks for its first event when it is ready."""
        self._requests: SimpleQueue[Request | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._is_ready = Event()
        self._is_closed = Event()
        self.was_killed = False  # by a test, not by its end or its timeout
        self._taken_at = 0.0  # when the process took its event
        self._closing = Lock()
        self._api = RuntimeApi(self)
        self._process: Process | None = None
        try:
            self._process = processes.start(program(self._api.address), self._on_end)
        except ProcessStartError as error:
            reason = str(error)
            self.end(lambda request_id: failed(request_id, "Runtime.StartError", reason))

    @property
    def is_alive(self) -> bool:
        """Return whether it can take another event."""
        return not self._is_closed.is_set()

    @property
    def is_in_work(self) -> bool:
        """Return whether its process has started and was not killed."""
        return self._is_ready.is_set() and self.is_alive and not self.was_killed

    @property
    def worked_seconds(self) -> float:
        """Return for how long it has had its event."""
        return time.monotonic() - self._taken_at

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid if self._process else 0

    def invoke(self, request: Request) -> Invocation:
        """Hand the event to the process, and return what comes of it within the timeout."""
        self._requests.put(request)
        self._is_ready.wait(INIT_SECONDS)
        try:
            outcome = self._outcomes.get(timeout=request.timeout_seconds)
        except Empty:
            self.close()
            return timed_out(request.request_id, request.timeout_seconds)
        return outcome(request.request_id)

    def kill(self) -> None:
        """Kill the process as a crash would end it."""
        self.was_killed = True
        self._end_process()

    def close(self) -> None:
        """End the process and then its API, or the process would log that its API is gone."""
        self._end_process()
        if self._process:
            self._process.wait(END_SECONDS)
        self._close_api()

    def next_request(self) -> Request | None:
        """Wait for an event; the process is ready as soon as it asks."""
        self._is_ready.set()
        request = self._requests.get()
        self._taken_at = time.monotonic()
        return request

    def finish(self, outcome: Outcome) -> None:
        """Take the end of one invocation."""
        self._outcomes.put(outcome)

    def end(self, outcome: Outcome) -> None:
        """Take the end of the invocation and of the process."""
        self._outcomes.put(outcome)
        self._is_ready.set()
        self._close_api()

    def _end_process(self) -> None:
        if self._process:
            self._process.stop()

    def _on_end(self, code: int) -> None:
        self.end(lambda request_id: exited(request_id, code))

    def _close_api(self) -> None:
        with self._closing:
            if not self._is_closed.is_set():
                self._is_closed.set()
                self._requests.put(None)
                self._api.close()
