"""Open rows that no run has touched for long -> sent again, or closed when they had their share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from functions.core.announcement import Announcements
from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import Group, LedgerRow
from functions.core.next_step import attempts_allowed
from functions.core.retry_policy import RetrySettings
from functions.core.transitions import give_up_stuck, record_failure
from functions.sweep.due import is_due
from functions.sweep.holds import stuck_rule
from functions.sweep.ports import SecondsLeft
from functions.sweep.tools import Tools

LOST = Failure(FailureKind.RESOURCE, "no run has come to an end with it")


@dataclass(frozen=True)
class Stuck:
    """The job that finds lost messages and the orphans of dead runs."""

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
            wanted=self.tools.guards.view(stuck_rule(due_ms)).allows,
        ):
            stuck = [row for row in rows if is_due(row, Group.OPEN, due_ms)]
            over = [row for row in stuck if is_exhausted(row, self.retry[row.task.target])]
            self._close([give_up_stuck(row, LOST, now_ms=now_ms) for row in over])
            dispatch.send(
                [record_failure(row, LOST, now_ms=now_ms) for row in stuck if row not in over]
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
    return row.progress.attempts >= attempts_allowed(policy, LOST.kind, is_failing=False)
