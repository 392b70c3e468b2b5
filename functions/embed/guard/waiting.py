"""The time that one run may spend waiting for the provider or the index."""

from collections.abc import Callable
from dataclasses import dataclass

from functions.core.failure import Failure, FailureError
from functions.embed.run_time import SHORTEST_REQUEST_SECONDS, SecondsLeft


@dataclass
class Waiting:
    """Waits while the run has time; adds up how long."""

    seconds_left: SecondsLeft
    wait: Callable[[float], None]
    waited_ms: int = 0

    def __post_init__(self) -> None:
        # The least time for a request; a short run is divided as a long one is.
        self.shortest_seconds = min(SHORTEST_REQUEST_SECONDS, max(self.seconds_left(), 0.0) / 8)

    def sleep(self, seconds: float, failure: Failure, *, least_seconds: float) -> None:
        """Wait, and leave so many seconds of the run; raise the failure if there are no more."""
        spare = self.seconds_left() - least_seconds
        if spare <= 0:
            raise FailureError(failure)
        # A whole millisecond at least: a clock that does not move would never end a wait.
        waited = max(min(seconds, spare), 0.001)
        self.wait(waited)
        self.waited_ms += round(waited * 1000)
