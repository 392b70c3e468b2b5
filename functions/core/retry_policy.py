"""How often to try, and how long to wait in between. Pure: nothing here waits or stores."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from functions.core.failure import FailureKind
from functions.core.frozen import Frozen
from functions.core.names import STASH_DAYS


class Strategy(StrEnum):
    IMMEDIATE = "immediate"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"
    SCHEDULE = "schedule"


# The others either never pass or wait without spending an attempt, whatever a policy says.
RETRYABLE = tuple(kind for kind in FailureKind if kind.is_retryable)
_KINDS = ", ".join(RETRYABLE)
_WEEK_SECONDS = 7 * 24 * 60 * 60
_DELAYS = f"a list of delays, 0 to {_WEEK_SECONDS} (a week) each; the last one repeats"
Seconds = Annotated[float, Field(ge=0, le=_WEEK_SECONDS)]


class Backoff(Frozen):
    """The number of attempts, and the delay after each."""

    max_attempts: int = Field(5, ge=1, le=100, description="..., the first included")
    strategy: Strategy = Strategy.EXPONENTIAL
    base_seconds: Seconds = Field(4, description="... (a week), after the first attempt")
    cap_seconds: Seconds = Field(120, description="... (a week), no delay is longer")
    # Of the strategy "schedule": one delay after each attempt.
    schedule_seconds: tuple[Seconds, ...] = Field((), description=_DELAYS)
    # The random share is taken off: the cap stays the cap.
    jitter: float = Field(0, ge=0, le=1, description="..., the share of a delay that is random")

    def delay_seconds(self, attempts: int, *, jitter: float = 0.0) -> float:
        """Wait so long after `attempts` that failed; `jitter` is in [0, 1)."""
        full = min(self._full_seconds(max(attempts, 1)), self.cap_seconds)
        return full * (1 - self.jitter * jitter)

    def _full_seconds(self, attempts: int) -> float:
        match self.strategy:
            case Strategy.IMMEDIATE:
                return 0.0
            case Strategy.LINEAR:
                return self.base_seconds * attempts
            case Strategy.EXPONENTIAL:
                # Above 2^60 the cap has decided long ago, and a float would overflow.
                return self.base_seconds * 2.0 ** min(attempts - 1, 60)
            case Strategy.SCHEDULE:
                return self.schedule_seconds[min(attempts, len(self.schedule_seconds)) - 1]


class RetryPolicy(Backoff):
    """What a document type gets; a kind of failure may have a backoff of its own."""

    kinds: dict[FailureKind, Backoff] = Field(
        {}, description=f"{{kind: {{max_attempts, ...}}}} for any of {_KINDS}"
    )
    # The kinds that are tried again at all.
    retryable: tuple[FailureKind, ...] | None = Field(
        None, description=f"a list of {_KINDS}; left out: all of them"
    )

    def backoff(self, kind: FailureKind) -> Backoff:
        return self.kinds.get(kind, self)

    def retries(self, kind: FailureKind) -> bool:
        """Tell whether a failure of this kind is tried again at all."""
        return self.retryable is None or kind in self.retryable

    def attempts_of(self, kind: FailureKind) -> int:
        """Return how many attempts a failure of this kind is given."""
        return self.backoff(kind).max_attempts if self.retries(kind) else 1


MINUTE = 60.0

STANDARD = RetryPolicy(jitter=0.5)
PRESETS: dict[str, RetryPolicy] = {
    # Five attempts within about a minute; half of each delay is random.
    "standard": STANDARD,
    # At once, three times more.
    "immediate": RetryPolicy(max_attempts=4, strategy=Strategy.IMMEDIATE),
    # 1, 5, 10, 20, 40 and then every 60 minutes, for about a day.
    "patient": RetryPolicy(
        max_attempts=29,
        strategy=Strategy.SCHEDULE,
        schedule_seconds=tuple(n * MINUTE for n in (1, 5, 10, 20, 40, 60)),
        cap_seconds=60 * MINUTE,
    ),
    # 2, 4, 8, 16 and then every 30 seconds.
    "capped": RetryPolicy(max_attempts=7, base_seconds=2.0, cap_seconds=30.0),
    # 5, 10, 20, 40 and then every 60 minutes.
    "slow-3": RetryPolicy(max_attempts=3, base_seconds=5 * MINUTE, cap_seconds=60 * MINUTE),
    "slow-5": RetryPolicy(max_attempts=5, base_seconds=5 * MINUTE, cap_seconds=60 * MINUTE),
    # 1, 2 and 4 seconds.
    "quick": RetryPolicy(max_attempts=4, base_seconds=1.0, cap_seconds=4.0),
}


class Healing(Frozen):
    """What comes after the last attempt of a failure that may pass, while live lanes are quiet."""

    after_seconds: tuple[Seconds, ...] = Field(
        tuple(n * 60 for n in (1, 5, 10, 20, 40, 60)), min_length=1, description=_DELAYS
    )
    # Longer than the stash keeps paid vectors, each attempt would pay for them again.
    hours: float = Field(24, ge=0, le=24 * STASH_DAYS, description="...; 0: no healing")


class RetrySettings(Frozen):
    """How a target retries: by document type, and what comes after the last attempt."""

    default: RetryPolicy = STANDARD
    types: Mapping[str, RetryPolicy] = {}
    # A newer version of the document would wait behind a message that is hidden in its queue.
    max_hide_seconds: float = Field(
        120, ge=1, le=900, description="...; a longer delay is kept in the ledger, not in the queue"
    )
    healing: Healing = Healing()

    def policy(self, document_type: str) -> RetryPolicy:
        return self.types.get(document_type, self.default)
