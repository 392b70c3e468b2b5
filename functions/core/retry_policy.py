"""When to try again: values in, a decision out; nothing here waits or stores."""

from dataclasses import dataclass

from functions.core.failure import Failure

# The longest that a task hides behind its visibility timeout: a newer version of the same
# document waits no longer than this behind an older one's backoff.
MAX_HIDE_SECONDS = 120.0
# The redrive policy of every lane: the receive after this one finds the message dead.
MAX_RECEIVES = 10


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
    base_seconds: float = 4.0
    cap_seconds: float = MAX_HIDE_SECONDS

    def next_step(
        self, failure: Failure, *, attempts: int, receives: int, jitter: float
    ) -> RetryAfter | GiveUp:
        """Decide after `attempts` that counted and `receives` of the message, these included;
        jitter is in [0, 1)."""
        last = f"the last one with {failure.kind}: {failure.message}"
        if failure.kind.is_permanent:
            return GiveUp(f"{failure.kind}: {failure.message}", is_permanent=True)
        if failure.kind.spends_attempt and attempts >= self.max_attempts:
            return GiveUp(f"{attempts} attempts failed, {last}", is_permanent=False)
        if receives >= MAX_RECEIVES:
            # SQS moves it now, whosever fault it was: the ledger must know.
            return GiveUp(f"{receives} deliveries failed, {last}", is_permanent=False)
        asked = failure.retry_after_seconds or 0.0
        delay = max(asked, self.backoff_seconds(receives, jitter=jitter))
        return RetryAfter(min(delay, self.cap_seconds))

    def backoff_seconds(self, receives: int, *, jitter: float) -> float:
        """Double with each delivery, so that failures that charge nobody slow down too."""
        ceiling = min(self.base_seconds * 2.0 ** max(receives - 1, 0), self.cap_seconds)
        # Half of the delay is random, so that a batch that failed together comes back apart.
        return ceiling * (1 + jitter) / 2


DEFAULT_POLICY = RetryPolicy()
