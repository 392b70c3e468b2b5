"""The jobs that send: parked and healing rows when they are due, and open rows that are stuck."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from functions.core.announcement import Announcements
from functions.core.failure import Failure, FailureKind
from functions.core.lane import Lane
from functions.core.ledger_row import Group, LedgerRow
from functions.core.next_step import attempts_allowed
from functions.core.ports import Clock, Telemetry
from functions.core.retry_policy import RetrySettings
from functions.core.transitions import give_up_stuck, put_in_lane, record_failure
from functions.sweep.dispatch import Dispatch
from functions.sweep.gate import Gate
from functions.sweep.holds import Rule, stuck_rule
from functions.sweep.ports import SecondsLeft, Wait
from functions.sweep.requeue import Requeue
from functions.sweep.walk import Walk

STUCK = Failure(FailureKind.RESOURCE, "no run has come to an end with it")


@dataclass(frozen=True)
class Tools:
    """A walk through the ledger, and a checked way to the lanes."""

    walk: Walk
    gate: Gate
    requeue: Requeue
    wait: Wait
    telemetry: Telemetry
    clock: Clock

    def dispatch(self, seconds_left: SecondsLeft) -> Dispatch:
        """Start to send, for one run of one job."""
        return Dispatch(self.requeue, self.gate, self.wait, seconds_left)


@dataclass(frozen=True)
class SendDue:
    """A job that sends the rows of a group whose time has come; their attempts stay."""

    tools: Tools
    name: str
    group: Group
    rule: Rule
    lane_of: Callable[[Lane], Lane] = lambda lane: lane

    def run(self, seconds_left: SecondsLeft) -> None:
        """Send every row that is due and not held back."""
        dispatch = self.tools.dispatch(seconds_left)
        for rows in self.tools.walk.rounds(
            self.name,
            self.group,
            due_ms=self.tools.clock(),
            seconds_left=seconds_left,
            wanted=self.tools.gate.check(self.rule),
        ):
            dispatch.send([put_in_lane(row, self.lane_of(row.task.lane)) for row in rows])


@dataclass(frozen=True)
class Stuck:
    """The job that finds lost messages, and rows whose run crashed."""

    tools: Tools
    announcements: Announcements
    retry: Mapping[str, RetrySettings]  # by target
    stuck_hours: float
    name: str = "stuck"

    def run(self, seconds_left: SecondsLeft) -> None:
        """Send stuck rows again, each as an attempt; close those that have none left."""
        now_ms = self.tools.clock()
        due_ms = now_ms - round(self.stuck_hours * 3_600_000)
        dispatch = self.tools.dispatch(seconds_left)
        for rows in self.tools.walk.rounds(
            self.name,
            Group.OPEN,
            due_ms=due_ms,
            seconds_left=seconds_left,
            wanted=self.tools.gate.check(stuck_rule(due_ms)),
        ):
            over = [row for row in rows if is_exhausted(row, self.retry[row.task.target])]
            self._close([give_up_stuck(row, STUCK, now_ms=now_ms) for row in over])
            dispatch.send(
                [record_failure(row, STUCK, now_ms=now_ms) for row in rows if row not in over]
            )

    def _close(self, rows: Sequence[LedgerRow]) -> None:
        """Close rows after their events are sent; a crash in between sends an event twice."""
        refused = self.announcements.refused(rows)
        announced = [row for row in rows if row.row_key not in refused]
        for row in self.tools.walk.ledger.write(announced).stored.values():
            self.tools.telemetry.event(
                "task_exhausted",
                **row.task.log_fields(),
                attempt=row.progress.attempts,
                reason=row.outcome.reason,
            )
            self.tools.telemetry.count("TasksExhausted")


def is_exhausted(row: LedgerRow, retry: RetrySettings) -> bool:
    """Tell whether a stuck row has had all attempts of its policy."""
    policy = retry.policy(row.type)
    return row.progress.attempts >= attempts_allowed(policy, STUCK.kind, is_failing=False)
