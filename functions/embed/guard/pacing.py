"""When a worker may send its next request, by what the provider takes. Pure."""

from dataclasses import dataclass, replace

from functions.core.control import LONGEST_COOLDOWN_SECONDS
from functions.core.ports import Allowance, RateLimit
from functions.core.settings import TargetSettings

NO_HEADERS = Allowance()


@dataclass(frozen=True)
class Pace:
    """What this worker knows after its last request."""

    asked_ms: int = 0
    tokens: int = 0  # that it took
    answered_ms: int = 0
    allowance: Allowance = NO_HEADERS
    requests: int = 1  # that the last answer took


def not_ahead(pace: Pace, now_ms: int) -> Pace:
    """Bring a pace into the present: a clock that was set back would be waited for."""
    return replace(
        pace, asked_ms=min(pace.asked_ms, now_ms), answered_ms=min(pace.answered_ms, now_ms)
    )


def ready_ms(pace: Pace, tokens: int, target: TargetSettings) -> int:
    """Return when a request of so many tokens may be sent.

    The headers are about the whole account, so they decide where there are any. The settings
    are for providers without them: each worker then takes its share. As after a 429, one try in
    a quarter of an hour does no harm, and a day in a header must not stop a worker for a day.
    """
    allowance = pace.allowance
    if allowance.requests is None and allowance.tokens is None:
        since_ms, seconds = pace.asked_ms, _share_seconds(pace, target)
    else:
        waits = (_refill_seconds(allowance.requests, 1), _refill_seconds(allowance.tokens, tokens))
        since_ms, seconds = pace.answered_ms, max(waits)
    return since_ms + round(min(seconds, LONGEST_COOLDOWN_SECONDS) * 1000)


def _refill_seconds(rate: RateLimit | None, needed: int) -> float:
    """Return how long a rate limit takes until it holds what is needed; it fills up evenly."""
    if rate is None or rate.left >= needed:
        return 0.0
    if rate.limit is None or rate.limit <= rate.left:
        return rate.reset_seconds
    # More than everything there never is: the provider will say so, and the request is split.
    missing = min(needed, rate.limit) - rate.left
    return rate.reset_seconds * missing / (rate.limit - rate.left)


def _share_seconds(pace: Pace, target: TargetSettings) -> float:
    if not pace.asked_ms:
        return 0.0
    waits = [0.0]
    if target.requests_per_minute:
        waits.append(60 * target.workers * pace.requests / target.requests_per_minute)
    if target.tokens_per_minute:
        waits.append(60 * target.workers * pace.tokens / target.tokens_per_minute)
    return max(waits)
