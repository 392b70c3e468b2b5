"""Failure + what was tried before -> what to do next. Pure."""

from dataclasses import dataclass

from functions.core.control import LONGEST_COOLDOWN_SECONDS
from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import Progress
from functions.core.retry_policy import RetryPolicy, RetrySettings

# The redrive policy of every lane: after this receive SQS moves it to the dead letters.
MAX_RECEIVES = 10
# From this receive on a message is not hidden once more but parked: two receives are left for
# runs that crash.
LAST_HIDING_RECEIVE = MAX_RECEIVES - 2
# While many requests fail, more attempts only add to the load; healing comes later.
ATTEMPTS_WHILE_FAILING = 2
# A free retry waits longer each time, too.
FREE_BASE_SECONDS = 4.0
FREE_CAP_SECONDS = 300.0
# While the ledger is down nothing can be parked, and each delivery counts. Tripled each time, ten
# of them last up to eleven hours, and no task waits longer than about three times the outage.
LATER_GROWTH = 3.0
# A visibility timeout ends 12 hours after the receive, and a run may last 15 minutes.
MAX_LATER_SECONDS = 42_000.0


@dataclass(frozen=True)
class RetryAfter:
    """Hide the message, then try again."""

    delay_seconds: float


@dataclass(frozen=True)
class Park:
    """Acknowledge the message; the ledger brings the task back when it is due."""

    delay_seconds: float


@dataclass(frozen=True)
class Heal:
    """Close the row as failed for now; it is tried again when it is due and the lanes are quiet."""

    delay_seconds: float
    reason: str


@dataclass(frozen=True)
class GiveUp:
    """Let SQS move the message to the dead letters."""

    reason: str
    is_permanent: bool


Step = RetryAfter | Park | Heal | GiveUp


def next_step(
    failure: Failure,
    tried: Progress,
    settings: RetrySettings,
    *,
    document_type: str,
    now_ms: int,
    is_failing: bool = False,
    jitter: float = 0.0,
) -> Step:
    """Decide; `tried` includes this failure, `is_failing`: many requests of this minute failed."""
    policy = settings.policy(document_type)
    if failure.kind.is_permanent:
        return GiveUp(f"{failure.kind}: {failure.message}", is_permanent=True)
    if not failure.kind.spends_attempt:
        return _wait(failure, tried, settings, jitter)
    reason = f"{tried.attempts} attempts failed, the last one with {failure.kind}:"
    if not policy.retries(failure.kind):
        return GiveUp(f"{reason} {failure.message}", is_permanent=False)
    # As after a 429, a day in a header must not stop a document for a day.
    asked = min(failure.retry_after_seconds or 0.0, LONGEST_COOLDOWN_SECONDS)
    # Fewer attempts are a loss only where nothing heals afterwards.
    is_cut = is_failing and settings.healing.hours > 0
    if tried.attempts >= attempts_allowed(policy, failure.kind, is_failing=is_cut):
        return _exhausted(f"{reason} {failure.message}", tried, settings, now_ms, asked)
    delay = policy.backoff(failure.kind).delay_seconds(tried.attempts, jitter=jitter)
    return _hide_or_park(max(delay, asked), tried, settings)


def may_be_last(
    kind: FailureKind, tried: Progress, settings: RetrySettings, *, document_type: str
) -> bool:
    """Tell whether one more failure of a kind may give a document up, without any healing."""
    policy = settings.policy(document_type)
    if not policy.retries(kind):
        return True
    is_healed = settings.healing.hours > 0 and tried.failing_since_ms is None
    return not is_healed and tried.attempts + 1 >= policy.attempts_of(kind)


def later_seconds(receives: int) -> float:
    """Return for how long a message goes back while the ledger can be neither read nor written."""
    growing = FREE_BASE_SECONDS * LATER_GROWTH ** (min(receives, MAX_RECEIVES) - 1)
    return min(growing, MAX_LATER_SECONDS)


def soon_seconds(receives: int, settings: RetrySettings) -> float:
    """Return for how long a message goes back that the run had no time for."""
    growing = FREE_BASE_SECONDS * 2.0 ** (min(receives, MAX_RECEIVES) - 1)
    return min(growing, settings.max_hide_seconds)


def attempts_allowed(policy: RetryPolicy, kind: FailureKind, *, is_failing: bool) -> int:
    """Return the limit of attempts, lower while everything fails."""
    allowed = policy.attempts_of(kind)
    return min(allowed, ATTEMPTS_WHILE_FAILING) if is_failing else allowed


def _wait(failure: Failure, tried: Progress, settings: RetrySettings, jitter: float) -> Step:
    """Wait for a free retry, as often as it takes: the document is not the cause."""
    growing = min(FREE_BASE_SECONDS * 2.0 ** min(tried.free_retries - 1, 10), FREE_CAP_SECONDS)
    delay = max(growing * (1 - jitter / 2), failure.retry_after_seconds or 0.0)
    # The lane is about to be paused, or the run has waited already: in the queue the task would
    # only be received again.
    if failure.kind.traits.stops_lane:
        return Park(delay)
    return _hide_or_park(delay, tried, settings)


def _hide_or_park(delay: float, tried: Progress, settings: RetrySettings) -> Step:
    is_long = delay > settings.max_hide_seconds
    # Another run with the same task has parked it meanwhile, and its message may be gone.
    is_parked = tried.parked
    if is_long or is_parked or tried.receive_count >= LAST_HIDING_RECEIVE:
        return Park(delay)
    return RetryAfter(delay)


def _exhausted(
    reason: str, tried: Progress, settings: RetrySettings, now_ms: int, asked_seconds: float
) -> Step:
    failing_ms = now_ms - (tried.failing_since_ms or now_ms)
    if failing_ms >= settings.healing.hours * 3_600_000:
        return GiveUp(reason, is_permanent=False)
    delays = settings.healing.after_seconds
    return Heal(max(delays[min(tried.heals, len(delays) - 1)], asked_seconds), reason)
