"""Breakers and mappings -> what each should become. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from functions.core.control import (
    Breaker,
    Circuit,
    Control,
    closed,
    lane_delay_ms,
    probe_failed,
    reopening,
)
from functions.core.failure import Part
from functions.core.lane import lane_of
from functions.core.settings import BreakerSettings

# In any other state a mapping is on its way, and AWS would refuse a second change.
SETTLED = {"Enabled": True, "Disabled": False}


def needs_probe(breaker: Breaker, *, now_ms: int) -> bool:
    """Tell whether it is time to try."""
    return breaker.state is Circuit.OPEN and breaker.due_ms <= now_ms


def after_probe(
    breaker: Breaker,
    failure: str | None,
    *,
    now_ms: int,
    settings: BreakerSettings,
    jitter: float,
) -> Breaker:
    """Let the lanes come back, or wait longer."""
    if failure is None:
        return reopening(
            breaker, reason="a probe has passed", now_ms=now_ms, settings=settings, jitter=jitter
        )
    return probe_failed(breaker, reason=failure, now_ms=now_ms, settings=settings, jitter=jitter)


def advance(
    breaker: Breaker,
    part: Part,
    queues: Iterable[str],
    *,
    now_ms: int,
    settings: BreakerSettings,
    jitter: float,
) -> Breaker:
    """Bring the next lanes back while it reopens; close it when all are."""
    if breaker.state is not Circuit.REOPENING or breaker.due_ms > now_ms:
        return breaker
    if breaker.lanes >= len(_steps(part, queues)):
        return closed(breaker, reason="all lanes are back", now_ms=now_ms)
    due_ms = now_ms + lane_delay_ms(settings, jitter)
    return replace(breaker, lanes=breaker.lanes + 1, due_ms=due_ms)


def wanted(control: Control, queues: Iterable[str]) -> dict[str, bool]:
    """Tell for each queue whether it shall be polled: neither breaker may be against it."""
    names = list(queues)
    allowed = [_allowed(control.breaker(part), part, names) for part in Part]
    return {queue: all(queue in part for part in allowed) for queue in names}


def switch(state: str, *, want: bool) -> bool | None:
    """Return what to turn a mapping to, or None where it is so, or is on its way."""
    return want if SETTLED.get(state, want) is not want else None


def _allowed(breaker: Breaker, part: Part, queues: list[str]) -> set[str]:
    if breaker.state is Circuit.CLOSED:
        return set(queues)
    back = 0 if breaker.state.stops_work else breaker.lanes
    returned = {queue for step in _steps(part, queues)[:back] for queue in step}
    return returned | {queue for queue in queues if not lane_of(queue).needs(part)}


def _steps(part: Part, queues: Iterable[str]) -> list[list[str]]:
    """Return the queues that a breaker stops, in the steps in which they come back."""
    steps: dict[int, list[str]] = {}
    for queue in sorted(queues):
        if lane_of(queue).needs(part):
            steps.setdefault(lane_of(queue).traits.reopens, []).append(queue)
    return [steps[number] for number in sorted(steps)]
