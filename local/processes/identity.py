"""Which process is meant: a pid alone may belong to another process by now."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

POLL_SECONDS = 0.05
ENDED = 0.0
# The start is counted from the boot time, which moves by a second or more when the clock is set.
TOLERANCE_SECONDS = 5.0


@dataclass(frozen=True)
class ProcessId:
    """One process, never mistaken for a later one with the same pid."""

    pid: int
    started: float  # seconds since 1970

    @classmethod
    def of(cls, pid: int) -> "ProcessId":
        """Return the identity of a process; one that has ended already is never alive."""
        return cls(pid, _started(pid))

    def is_alive(self) -> bool:
        """Return whether this very process still runs."""
        return self.started != ENDED and abs(_started(self.pid) - self.started) < TOLERANCE_SECONDS

    def send(self, number: int) -> None:
        """Send a signal to this very process, if it still runs."""
        if self.is_alive():
            with contextlib.suppress(psutil.NoSuchProcess):
                psutil.Process(self.pid).send_signal(number)


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until the condition holds; False if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _started(pid: int) -> float:
    if not pid:
        return ENDED
    try:
        process = psutil.Process(pid)
        return ENDED if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.NoSuchProcess:
        return ENDED
