"""When to try again: values in, a decision out; nothing here waits or stores."""

from dataclasses import dataclass

from functions.core.failure import Failure

# The longest that a task hides behind its visibility timeout: a newer version of the same
# document waits no longer than this behind an older one's backoff.
MAX_HIDE_SECONDS = 120.0


@dataclass(frozen=True)
class RetryAfter:
    """Hide the message, then try again."""

    delay_seconds: float


@dataclass(frozen=True)
class GiveUp:
    """Let SQS move the message to the dead letters."""

    reason: str
    is_permanent: bool


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with jitter, never above the cap."""

    max_attempts: int = 5
    base_seconds: float = 2.0
    cap_seconds: float = MAX_HIDE_SECONDS

    def next_step(self, failure: Failure, *, attempts: int, jitter: float) -> RetryAfter | GiveUp:
        """Decide after `attempts` spent ones, this one included; jitter is in [0, 1)."""
        if failure.kind.is_permanent:
            return GiveUp(f"{failure.kind}: {failure.message}", is_permanent=True)
        if failure.kind.spends_attempt and attempts >= self.max_attempts:
            return GiveUp(
                f"{attempts} attempts failed, the last one with {failure.kind}: {failure.message}",
                is_permanent=False,
            )
        if failure.retry_after_seconds is not None:
            return RetryAfter(min(failure.retry_after_seconds, self.cap_seconds))
        ceiling = min(self.base_seconds * 2.0 ** max(attempts - 1, 0), self.cap_seconds)
        # Half of the delay is random, so that a batch that failed together comes back apart.
        return RetryAfter(ceiling * (1 + jitter) / 2)


DEFAULT_POLICY = RetryPolicy()
