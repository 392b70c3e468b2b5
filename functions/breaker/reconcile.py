"""Breakers -> which mappings Lambda shall poll. Pure; the transitions are in core/breaker."""

from collections.abc import Iterable

from functions.core.breaker import Breaker, Circuit
from functions.core.control import Control
from functions.core.failure import Part
from functions.core.lane import lane_of

# In any other state AWS is still applying a change, and would refuse a second one.
SETTLED = {"Enabled": True, "Disabled": False}


def wanted(control: Control, queues: Iterable[str]) -> dict[str, bool]:
    """Tell for each queue whether it shall be polled: no breaker may stop it."""
    names = list(queues)
    allowed = [_allowed(control.breaker(part), part, names) for part in Part]
    return {queue: all(queue in part for part in allowed) for queue in names}


def switch(state: str, *, want: bool) -> bool | None:
    """Return what to turn a mapping to; None where it is so already, or AWS is changing it."""
    return want if SETTLED.get(state, want) is not want else None


def steps(part: Part, queues: Iterable[str]) -> list[list[str]]:
    """Return the queues that a breaker stops, in the steps in which they come back."""
    found: dict[int, list[str]] = {}
    for queue in sorted(queues):
        if lane_of(queue).needs(part):
            found.setdefault(lane_of(queue).traits.reopens, []).append(queue)
    return [found[number] for number in sorted(found)]


def _allowed(breaker: Breaker, part: Part, queues: list[str]) -> set[str]:
    if breaker.state is Circuit.CLOSED:
        return set(queues)
    back = 0 if breaker.state.stops_work else breaker.lanes
    returned = {queue for step in steps(part, queues)[:back] for queue in step}
    return returned | {queue for queue in queues if not lane_of(queue).needs(part)}
