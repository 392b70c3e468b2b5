"""All execution environments of one function: reused warm, refused above the reserved number."""

import json
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from local.aws_client import local_arn
from local.processes import Processes
from local.runner.execution import Execution
from local.runner.invocation import Invocation, throttled
from local.runner.place import RunnerPlace
from local.runner.program import make_program
from local.runner.runtime_api import Request
from local.specs import FunctionSpec

# Makes a call of the function with this name and event, and notes what came of it.
Measured = Callable[[str, bytes, Callable[[], Invocation]], Invocation]


def unmeasured(_function: str, _event: bytes, call: Callable[[], Invocation]) -> Invocation:
    """Make a call that nobody takes notes of."""
    return call()


class FunctionPool:
    """One function and its processes: one per concurrent invocation, started when first needed."""

    def __init__(
        self,
        function: FunctionSpec,
        place: RunnerPlace,
        processes: Processes,
        measured: Measured = unmeasured,
    ) -> None:
        """Start with no process."""
        self.function = function
        self._measured = measured
        self._place = place
        self._processes = processes
        self._lock = threading.Lock()
        self._idle: list[Execution] = []
        self._busy: list[Execution] = []
        self._running = 0
        self.killed_invocations = 0
        self.whole_invocations = 0
        self._is_closed = False
        self._log = place.log(function.name)
        self._log.parent.mkdir(parents=True, exist_ok=True)

    def invoke(self, event: bytes) -> Invocation:
        """Run the function on an event, given as JSON text, and wait for its end."""
        return self._measured(self.function.name, event, lambda: self._invoke(event))

    def _invoke(self, event: bytes) -> Invocation:
        request = self._request(event)
        if not self._enter():
            return throttled(request.request_id)
        try:
            execution = self._take()
            try:
                invocation = execution.invoke(request)
                self._count(execution, invocation)
            finally:
                self._give_back(execution)
        finally:
            self._leave()
        if invocation.error is not None:
            self._log_error(invocation)
        return invocation

    def warm(self) -> None:
        """Start a process before it is needed, as provisioned concurrency does."""
        self._give_back(self._take())

    def kill_one(self) -> bool:
        """Kill a process, a busy one if there is any; False if there is none at all."""
        with self._lock:
            if not self._busy and not self._idle:
                return False
            # An idle one leaves at once, so that the next event does not meet a dying process.
            execution = self._busy[0] if self._busy else self._idle.pop()
        execution.kill()
        return True

    def busy(self) -> list[Execution]:
        """Return the processes that work."""
        with self._lock:
            return list(self._busy)

    def pids(self) -> list[int]:
        """Return the process ids of all its processes."""
        with self._lock:
            return [execution.pid for execution in (*self._busy, *self._idle)]

    def close(self) -> None:
        """End every process; what runs ends as a crash."""
        with self._lock:
            self._is_closed = True
            everyone = [*self._busy, *self._idle]
            self._idle.clear()
        for execution in everyone:
            execution.close()

    def _request(self, event: bytes) -> Request:
        root = f"1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]}"
        return Request(
            request_id=str(uuid.uuid4()),
            event=event,
            function_arn=local_arn("lambda", f"function:{self.function.name}"),
            trace_id=f"Root={root};Parent={uuid.uuid4().hex[:16]};Sampled=0",
            timeout_seconds=self.function.timeout_seconds,
        )

    def _enter(self) -> bool:
        limit = self.function.reserved_concurrency
        with self._lock:
            if self._is_closed or (limit is not None and self._running >= limit):
                return False
            self._running += 1
            return True

    def _leave(self) -> None:
        with self._lock:
            self._running -= 1

    def _take(self) -> Execution:
        with self._lock:
            # The last one used first, so that no more processes stay warm than are needed.
            while self._idle:
                execution = self._idle.pop()
                if execution.is_alive:
                    self._busy.append(execution)
                    return execution
        execution = Execution(
            self._processes, lambda address: make_program(self.function, self._place, address)
        )
        with self._lock:
            self._busy.append(execution)
            came_late = self._is_closed
        if came_late:
            execution.close()
        return execution

    def _give_back(self, execution: Execution) -> None:
        with self._lock:
            self._busy.remove(execution)
            if execution.is_alive:
                self._idle.append(execution)
                return
        execution.close()

    def _count(self, execution: Execution, invocation: Invocation) -> None:
        with self._lock:
            if execution.was_killed and invocation.has_exited:
                self.killed_invocations += 1
            elif not invocation.has_exited:
                self.whole_invocations += 1

    def _log_error(self, invocation: Invocation) -> None:
        """Write what the platform itself would: a killed process cannot log its end."""
        line: dict[str, Any] = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "level": "ERROR",
            "message": "invocation_failed",
            "function_request_id": invocation.request_id,
            "error": dict(invocation.error or {}),
        }
        with self._log.open("a") as log:
            log.write(json.dumps(line) + "\n")
