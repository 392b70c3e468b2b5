"""What all workers of a target share: its two breakers and its cooldown. Pure rules."""

from dataclasses import dataclass, replace
from enum import StrEnum

from functions.core.failure import Part
from functions.core.settings import BreakerSettings

# Where a throttled answer does not say how long to wait, and as the least where it does: a
# provider that keeps saying "one second" is asked less and less often all the same.
COOLDOWN_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0)
# However long it asks for: one request in a quarter of an hour harms nobody, and a wrong date
# in a header must not stop a target for good.
LONGEST_COOLDOWN_SECONDS = 900.0


class Circuit(StrEnum):
    CLOSED = "closed"  # work goes on
    OPEN = "open"  # too much failed: the mappings are paused, and a probe is sent now and then
    REOPENING = "reopening"  # a probe has passed: the lanes come back one by one
    PAUSED = "paused"  # by a person, until a person resumes it

    @property
    def stops_work(self) -> bool:
        return self in (Circuit.OPEN, Circuit.PAUSED)

    @property
    def event(self) -> str:
        """Name the log event of the change to this state."""
        return "breaker_opened" if self is Circuit.OPEN else f"breaker_{self}"


@dataclass(frozen=True)
class Breaker:
    """The state of one breaker, and the counts of the current window."""

    state: Circuit = Circuit.CLOSED
    reason: str = ""
    since_ms: int = 0
    probes: int = 0  # that failed since it was closed
    due_ms: int = 0  # of the next probe, or of the next lanes that come back
    lanes: int = 0  # how many steps of lanes are back, while it reopens
    is_logged: bool = True  # False: a person has changed it, and nothing has logged that yet
    window_ms: int = 0  # when the window of the counts began
    successes: int = 0
    failures: int = 0


@dataclass(frozen=True)
class Cooldown:
    """After a 429: when somebody may ask again, and how often it happened in a row."""

    until_ms: int = 0
    throttles: int = 0
    claimed_until_ms: int = 0  # one worker is asking on behalf of all


@dataclass(frozen=True)
class Control:
    """Everything that the workers of a target share."""

    provider: Breaker = Breaker()
    index: Breaker = Breaker()
    cooldown: Cooldown = Cooldown()

    def breaker(self, part: Part) -> Breaker:
        return self.provider if part is Part.PROVIDER else self.index

    def with_breaker(self, part: Part, breaker: Breaker) -> "Control":
        if part is Part.PROVIDER:
            return replace(self, provider=breaker)
        return replace(self, index=breaker)


def window_start(breaker: Breaker, *, now_ms: int, settings: BreakerSettings) -> int:
    """Return when the current window began; a change of state begins one, too.

    Otherwise the failures that opened a breaker would open it again as soon as it reopens.
    """
    return max(now_ms - now_ms % (settings.window_seconds * 1000), breaker.since_ms)


def failure_ratio(breaker: Breaker, *, now_ms: int, settings: BreakerSettings) -> float:
    """Return the share of failures in the current window; 0 where too little was asked."""
    asked = breaker.successes + breaker.failures
    window_ms = window_start(breaker, now_ms=now_ms, settings=settings)
    if breaker.window_ms != window_ms or asked < settings.least_requests:
        return 0.0
    return breaker.failures / asked


def is_failing(breaker: Breaker, *, now_ms: int, settings: BreakerSettings) -> bool:
    """Tell whether smaller packs and fewer attempts are in place: half way to opening."""
    return failure_ratio(breaker, now_ms=now_ms, settings=settings) >= settings.failure_ratio / 2


def cooldown_seconds(throttles: int, asked_seconds: float | None) -> float:
    """Return how long nobody asks after so many throttles in a row, this one not counted."""
    least = COOLDOWN_SECONDS[min(throttles, len(COOLDOWN_SECONDS) - 1)]
    return min(max(least, asked_seconds or 0.0), LONGEST_COOLDOWN_SECONDS)


def opened(
    breaker: Breaker, *, reason: str, now_ms: int, settings: BreakerSettings, jitter: float
) -> Breaker:
    """Open it; the first probe comes after a while.

    One that fails while it reopens waits longer than before: its probe had promised too much.
    """
    probes = breaker.probes + 1 if breaker.state is Circuit.REOPENING else 0
    return replace(
        breaker,
        state=Circuit.OPEN,
        reason=reason,
        since_ms=now_ms,
        probes=probes,
        lanes=0,
        due_ms=now_ms + probe_delay_ms(probes, settings, jitter),
        is_logged=True,
    )


def probe_failed(
    breaker: Breaker, *, reason: str, now_ms: int, settings: BreakerSettings, jitter: float
) -> Breaker:
    """Keep it open; the next probe comes later than this one did."""
    probes = breaker.probes + 1
    due_ms = now_ms + probe_delay_ms(probes, settings, jitter)
    return replace(breaker, reason=reason, probes=probes, due_ms=due_ms)


def reopening(
    breaker: Breaker, *, reason: str, now_ms: int, settings: BreakerSettings, jitter: float
) -> Breaker:
    """Let the first lanes come back."""
    return replace(
        breaker,
        state=Circuit.REOPENING,
        reason=reason,
        since_ms=now_ms,
        lanes=1,
        due_ms=now_ms + lane_delay_ms(settings, jitter),
        is_logged=True,
    )


def closed(breaker: Breaker, *, reason: str, now_ms: int) -> Breaker:
    """Let everything go on."""
    return replace(
        breaker,
        state=Circuit.CLOSED,
        reason=reason,
        since_ms=now_ms,
        probes=0,
        lanes=0,
        due_ms=0,
        is_logged=True,
    )


def paused(breaker: Breaker, *, reason: str, now_ms: int) -> Breaker:
    """Stop the work at a person's wish, until a person resumes it."""
    return replace(
        breaker,
        state=Circuit.PAUSED,
        reason=reason,
        since_ms=now_ms,
        lanes=0,
        due_ms=0,
        is_logged=False,
    )


def probe_delay_ms(probes: int, settings: BreakerSettings, jitter: float) -> int:
    """Return how long to wait for the probe after so many that failed."""
    steps = settings.probe_after_seconds
    # A tenth of it is random, so that the targets of one provider do not ask together.
    return round(steps[min(probes, len(steps) - 1)] * 1000 * (1 - 0.1 * jitter))


def lane_delay_ms(settings: BreakerSettings, jitter: float) -> int:
    """Return how long to wait for the next lanes to come back."""
    return round(settings.lane_seconds * 1000 * (0.5 + jitter))
