"""What keeps a row from being sent in this run. Pure."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from functions.core.breaker import Circuit
from functions.core.budget import budget_of
from functions.core.control import Control
from functions.core.failure import Part
from functions.core.lane import RETENTION_DAYS, Lane, lane_of, queue_name
from functions.core.ports import Listed
from functions.core.settings import TargetSettings

# With more messages than this, a lane has a backlog. It is above what a backfill keeps waiting
# (tests/flow/test_backfill), which would otherwise hold all healing for the days that it lasts.
MAX_WAITING = 5000
# Up to one batch in the live lanes is what a busy hour always has; more is work that comes first.
QUIET_WAITING = 10
# After so long healing no longer waits for a quiet hour: a stage that is always busy has none,
# and its failed documents would neither heal nor come to an end.
OVERDUE_MS = 30 * 60 * 1000
# After so long a lane that came back has worked what had waited, or has a backlog: a breaker that
# opens once a day does not hold stuck rows for ever.
RELEASED_MS = 6 * 3_600_000
# No queue keeps a message longer: whatever the breakers did, such a row has none.
RETENTION_MS = RETENTION_DAYS * 24 * 3_600_000


class Hold(StrEnum):
    """Why a row is not sent."""

    UNDEPLOYED = "its target or source is not deployed"
    UNANSWERED = "the queues of its target do not answer"
    STOPPED = "a breaker has stopped its lane"
    TROUBLED = "a breaker of its target is not closed"
    RELEASED = "a breaker of its target was not closed until some hours ago"
    BUDGET = "the budget of its target is used up"
    BACKLOG = "its lane has a backlog"
    BUSY = "the live lanes are not quiet"
    UNPROVEN = "of many, none of the first came through"


@dataclass(frozen=True)
class Situation:
    """The breakers and the queues of a target in this run."""

    control: Control
    waiting: Counter[str]  # messages by queue
    now_ms: int
    target: TargetSettings | None = None

    def stops(self, lane: Lane) -> bool:
        """Tell whether the lane is paused, or about to be."""
        return any(self.control.breaker(p).state.stops_work for p in Part if lane.needs(p))

    def is_over_budget(self, lane: Lane) -> bool:
        """Tell whether no request of the lane can be paid."""
        if self.target is None:
            return False
        is_live = lane.traits.is_live
        budget = budget_of(self.target, self.control, now_ms=self.now_ms, is_live=is_live)
        return budget is not None and budget.is_used_up

    @property
    def is_troubled(self) -> bool:
        states = {self.control.provider.state, self.control.index.state}
        return states != {Circuit.CLOSED}

    @property
    def settled_ms(self) -> int:
        """The time of the last change of either breaker."""
        return max(self.control.provider.since_ms, self.control.index.since_ms)

    @property
    def is_quiet(self) -> bool:
        """Tell whether the live lanes have no more than the next batch waiting."""
        live = sum(depth for name, depth in self.waiting.items() if lane_of(name).traits.is_live)
        return live <= QUIET_WAITING

    def has_backlog(self, lane: Lane, source: str) -> bool:
        return self.waiting.get(queue_name(lane, source), 0) > MAX_WAITING


# Situation of a target and one of its rows -> why that is held back, if it is.
Rule = Callable[[Situation, Listed], Hold | None]


def due_rule(situation: Situation, listed: Listed) -> Hold | None:
    """Hold a parked row while it would only wait in a paused lane.

    A backlog does not hold it: it has no message, and the tail is where it belongs.
    """
    return Hold.STOPPED if situation.stops(listed.lane) else None


def budget_rule(situation: Situation, listed: Listed) -> Hold | None:
    """Hold a row that waits for the budget while it would only be parked again.

    A backlog holds it, too: what waits may be a thousand times what a day pays for.
    """
    if situation.stops(listed.lane):
        return Hold.STOPPED
    if situation.is_over_budget(listed.lane):
        return Hold.BUDGET
    return Hold.BACKLOG if situation.has_backlog(listed.lane, listed.source) else None


def stuck_rule(due_ms: int) -> Rule:
    """Make the rule for rows that nothing has touched since then."""

    def rule(situation: Situation, listed: Listed) -> Hold | None:
        """Hold an open row that has a good reason to wait: it is not stuck.

        A backlog longer than the threshold would be requeued to its own tail, for ever.
        """
        if situation.is_troubled:
            return Hold.TROUBLED
        is_released = situation.settled_ms > max(due_ms, situation.now_ms - RELEASED_MS)
        if is_released and listed.due_ms > situation.now_ms - RETENTION_MS:
            return Hold.RELEASED
        return Hold.BACKLOG if situation.has_backlog(listed.lane, listed.source) else None

    return rule


def healing_rule(situation: Situation, listed: Listed) -> Hold | None:
    """Hold a failed row while there is anything better to do, but not for ever."""
    if situation.is_troubled:
        return Hold.TROUBLED
    if situation.has_backlog(listed.lane.heals_in, listed.source):
        return Hold.BACKLOG
    # Without the provider it costs next to nothing, and delays no live work.
    is_cheap = not listed.lane.needs(Part.PROVIDER)
    is_urgent = is_cheap or situation.now_ms - listed.due_ms > OVERDUE_MS
    return None if is_urgent or situation.is_quiet else Hold.BUSY
