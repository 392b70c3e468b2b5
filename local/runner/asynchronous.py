"""Invocations nobody waits for: run again after an error or a throttle, as Lambda does.

https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
"""

import logging
import time
from collections.abc import Sequence
from threading import Event, Lock, Thread

from local.runner.backoff import Backoff
from local.runner.mapping import Invoke

logger = logging.getLogger(__name__)

# Two more runs after an error of the function, its timeout or its end.
RETRY_SECONDS = (60.0, 120.0)
# A throttled event did not run: it waits in Lambda's own queue.
THROTTLE_FIRST_SECONDS, THROTTLE_LIMIT_SECONDS = 1.0, 300.0
EVENT_AGE_SECONDS = 6 * 3600.0


class AsynchronousInvocations:
    """Events on their way to functions, each in a thread of its own."""

    def __init__(self, stop: Event, retry_seconds: Sequence[float] = RETRY_SECONDS) -> None:
        """Wait so long before each retry; give everything up when told to stop."""
        self._stop = stop
        self._retry_seconds = retry_seconds
        self._lock = Lock()
        self._threads: set[Thread] = set()

    def begin(self, function: str, invoke: Invoke, event: bytes) -> None:
        """Run the function on an event and return at once."""
        thread = Thread(target=self._run, args=(function, invoke, event), daemon=True)
        with self._lock:
            self._threads = {known for known in self._threads if known.is_alive()} | {thread}
            # Under the lock, so that nobody takes it for one that has ended.
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
