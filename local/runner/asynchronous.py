"""Invocations without a waiting caller, from the API or a schedule; retried as Lambda does.

https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
"""

import logging
import time
from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread

from local.runner.mapping import Backoff, Invoke
from local.specs import ScheduleSpec

logger = logging.getLogger(__name__)

# Two more runs after an error of the function, its timeout or its end.
RETRY_SECONDS = (60.0, 120.0)
# A throttled event did not run: it waits in Lambda's own queue.
THROTTLE_FIRST_SECONDS, THROTTLE_LIMIT_SECONDS = 1.0, 300.0
EVENT_AGE_SECONDS = 6 * 3600.0


class AsynchronousInvocations:
    """Events on their way to functions, each in a thread of its own."""

    def __init__(self, stop: Event, retry_seconds: Sequence[float] = RETRY_SECONDS) -> None:
        self._stop = stop
        self._retry_seconds = retry_seconds
        self._lock = Lock()
        self._threads: set[Thread] = set()

    def begin(self, function: str, invoke: Invoke, event: bytes) -> None:
        """Run the function on an event and return at once."""
        thread = Thread(target=self._run, args=(function, invoke, event), daemon=True)
        with self._lock:
            self._threads = {known for known in self._threads if known.is_alive()} | {thread}
            # Under the lock, so that it is not dropped as one that has ended.
            thread.start()

    def join(self) -> None:
        """Wait for what runs to end, after the stop event."""
        with self._lock:
            threads = tuple(self._threads)
        for thread in threads:
            thread.join()

    def _run(self, function: str, invoke: Invoke, event: bytes) -> None:
        throttled = Backoff(THROTTLE_FIRST_SECONDS, THROTTLE_LIMIT_SECONDS)
        end = time.monotonic() + EVENT_AGE_SECONDS
        retries = iter(self._retry_seconds)
        while not self._stop.is_set() and time.monotonic() < end:
            invocation = invoke(event)
            if invocation.error is None:
                return
            if invocation.is_throttled:
                throttled.wait(self._stop)
                continue
            wait_seconds = next(retries, None)
            if wait_seconds is None:
                break
            self._stop.wait(wait_seconds)
        logger.error("%s: an event was given up: %.200s", function, event.decode(errors="replace"))


class Schedule:
    """One rule: fires at its rate, first a whole interval after its start.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-rule-schedule.html
    """

    def __init__(self, spec: ScheduleSpec, fire: Callable[[bytes], None], stop: Event) -> None:
        self._spec = spec
        self._fire = fire
        self._stop = stop
        self._thread = Thread(target=self._run, name=spec.rule, daemon=True)

    def start(self) -> None:
        """Begin to wait for the first time; a disabled rule never fires."""
        if self._spec.enabled:
            self._thread.start()

    def join(self) -> None:
        """Wait for its end, after the stop event."""
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._spec.every_seconds):
            self._fire(self._spec.payload.encode())
