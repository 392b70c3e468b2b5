"""How a run divides its time: nothing starts without the time to finish it."""

from collections.abc import Callable
from dataclasses import dataclass

SecondsLeft = Callable[[], float]

# A request with less time than this may be billed, but answered after our timeout.
SHORTEST_REQUEST_SECONDS = 5.0
# A small request has half of `request_seconds`, one of so many tokens that and the whole.
TOKENS_PER_REQUEST_TIME = 100_000
# A message of a crashed run comes again so long after the run's own end.
CRASH_NOTICED_SECONDS = 30.0


@dataclass(frozen=True)
class RunTime:
    """The time of one run; a short one is divided as a long one is."""

    left: SecondsLeft
    total: float

    @classmethod
    def begin(cls, left: SecondsLeft) -> "RunTime":
        return cls(left, left())

    @property
    def finish_seconds(self) -> float:
        """What stays for the index and the ledger after the last request."""
        return min(20.0, self.total / 3)

    @property
    def request_seconds(self) -> float:
        """How long a first request of middle size may take."""
        return min(30.0, self.total / 4)

    @property
    def has_a_round(self) -> bool:
        """Tell whether a request and what follows it still fit."""
        return self.left() >= self.finish_seconds + self.request_seconds / 2

    @property
    def has_a_parcel(self) -> bool:
        """Tell whether one bulk request, the ledger and the queue after it still fit."""
        return self.left() >= min(14.0, self.total / 4)

    @property
    def crash_noticed_seconds(self) -> float:
        """How long after a run's beginning it is over, whatever became of it."""
        return self.total + CRASH_NOTICED_SECONDS

    def for_requests(self) -> float:
        """Return how long requests may still be sent and waited for."""
        return self.left() - self.finish_seconds

    def timeout_seconds(self, tokens: int, patience: int, *, has_more: bool = False) -> float:
        """Return the timeout of a request by its size, doubled for each one that was too short.

        If its document `has_more` to ask for, half of the time is kept for that.
        """
        size = 0.5 + tokens / TOKENS_PER_REQUEST_TIME
        most = self.for_requests() / (2 if has_more else 1)
        return min(self.request_seconds * size * 2.0**patience, most)

    def is_too_short(self, timeout_seconds: float) -> bool:
        """Tell whether a request with this timeout is not worth sending."""
        return timeout_seconds < min(SHORTEST_REQUEST_SECONDS, self.total / 12)
