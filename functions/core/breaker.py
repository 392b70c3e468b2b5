"""A breaker and every transition of its state. Pure; the caller stores what is returned.

closed --too many failures--> open --a probe passed--> reopening --all lanes are back--> closed
any state --a person--> paused --a person--> reopening
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from functions.core.failure import Part
from functions.core.settings import BreakerSettings

if TYPE_CHECKING:
    from functions.core.ports import Telemetry


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
    is_logged: bool = True  # False: a person has changed it, and the breaker function logs it
    window_ms: int = 0  # when the window of the counts began
    successes: int = 0
    failures: int = 0


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
    """Tell whether to send smaller requests and retry less: half of the ratio that opens it."""
    return failure_ratio(breaker, now_ms=now_ms, settings=settings) >= settings.failure_ratio / 2


@dataclass(frozen=True)
class Timing:
    """When a transition happens, and what decides when the next one is due."""

    now_ms: int
    settings: BreakerSettings
    jitter: float  # in [0, 1)

    def probe_due_ms(self, probes: int) -> int:
        """Return when the probe is due after so many that failed."""
        steps = self.settings.probe_after_seconds
        # A tenth of it is random, so that the targets of one provider do not ask together.
        delay = steps[min(probes, len(steps) - 1)] * 1000 * (1 - 0.1 * self.jitter)
        return self.now_ms + round(delay)

    def lanes_due_ms(self) -> int:
        """Return when the next lanes come back: within their time, at random.

        A tenth of it stays free: by default it is a minute, and this is looked at each minute.
        """
        return self.now_ms + round(self.settings.lane_seconds * 1000 * (0.5 + 0.4 * self.jitter))


def opened(breaker: Breaker, at: Timing, *, reason: str) -> Breaker:
    """Open it; the first probe comes after a while.

    One that fails while it reopens waits longer than before: its probe passed too early.
    """
    probes = breaker.probes + 1 if breaker.state is Circuit.REOPENING else 0
    due_ms = at.probe_due_ms(probes)
    return _enter(breaker, Circuit.OPEN, reason, at.now_ms, probes=probes, due_ms=due_ms)


def needs_probe(breaker: Breaker, *, now_ms: int) -> bool:
    """Tell whether a probe is due."""
    return breaker.state is Circuit.OPEN and breaker.due_ms <= now_ms


def probed(breaker: Breaker, at: Timing, *, failure: str | None) -> Breaker:
    """Let the lanes come back after a probe that passed; else wait longer for the next one."""
    if failure is None:
        return reopening(breaker, at, reason="a probe has passed")
    probes = breaker.probes + 1
    return replace(breaker, reason=failure, probes=probes, due_ms=at.probe_due_ms(probes))


def reopening(breaker: Breaker, at: Timing, *, reason: str) -> Breaker:
    """Let the first lanes come back."""
    due_ms = at.lanes_due_ms()
    return _enter(breaker, Circuit.REOPENING, reason, at.now_ms, lanes=1, due_ms=due_ms)


def advanced(breaker: Breaker, at: Timing, *, steps: int) -> Breaker:
    """Bring the next lanes back while it reopens; close it after the last of so many steps."""
    if breaker.state is not Circuit.REOPENING or breaker.due_ms > at.now_ms:
        return breaker
    if breaker.lanes >= steps:
        return _enter(breaker, Circuit.CLOSED, "all lanes are back", at.now_ms, probes=0)
    return replace(breaker, lanes=breaker.lanes + 1, due_ms=at.lanes_due_ms())


def paused(breaker: Breaker, *, reason: str, now_ms: int) -> Breaker:
    """Stop the work at a person's wish, until a person resumes it."""
    return replace(_enter(breaker, Circuit.PAUSED, reason, now_ms), is_logged=False)


def resumed(breaker: Breaker, at: Timing, *, reason: str) -> Breaker:
    """Let the lanes come back at a person's wish, as if no probe had failed."""
    return replace(reopening(breaker, at, reason=reason), probes=0, is_logged=False)


def log_transition(telemetry: "Telemetry", target: str, part: Part, breaker: Breaker) -> None:
    """Log and count that a breaker has changed its state."""
    telemetry.event(breaker.state.event, target=target, part=str(part), reason=breaker.reason)
    telemetry.count("BreakerTransitions")
    if breaker.state is Circuit.OPEN:
        telemetry.count("BreakerOpened")


def _enter(
    breaker: Breaker,
    state: Circuit,
    reason: str,
    now_ms: int,
    *,
    probes: int | None = None,
    lanes: int = 0,
    due_ms: int = 0,
) -> Breaker:
    return replace(
        breaker,
        state=state,
        reason=reason,
        since_ms=now_ms,
        probes=breaker.probes if probes is None else probes,
        lanes=lanes,
        due_ms=due_ms,
        is_logged=True,
    )
