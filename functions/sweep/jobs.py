"""The jobs that send: parked and healing rows when they are due, and open rows that are stuck."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from functions.core.announcement import Announcements
from functions.core.closing import close_rows
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Group, LedgerRow
from functions.core.next_step import attempts_allowed
from functions.core.ports import Clock, Telemetry, UnreadableRowsError
from functions.core.retry_policy import RetrySettings
from functions.core.swap import Rows
from functions.core.transitions import give_up_stuck, put_in_lane, record_failure
from functions.sweep.dispatch import Dispatch
from functions.sweep.gate import Gate
from functions.sweep.holds import Rule, stuck_rule
from functions.sweep.ports import SecondsLeft, Wait
from functions.sweep.requeue import Requeue
from functions.sweep.walk import Walk

STUCK = Failure(FailureKind.RESOURCE, "no run has come to an end with it")


@dataclass(frozen=True)
class Closed:
    """A row that is given up; None: it stays."""

    row: LedgerRow | None = None


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
    is_bounded: bool = False  # no more in one run than a lane holds without a backlog

    def run(self, seconds_left: SecondsLeft) -> None:
        """Send every row that is due and not held back; fail at the end for a broken target."""
        broken: dict[str, FailureError] = {}
        dispatch = self.tools.dispatch(seconds_left)
        for rows in self.tools.walk.rounds(
            self.name,
            self.group,
            due_ms=self.tools.clock(),
            seconds_left=seconds_left,
            wanted=self.tools.gate.check(self.rule, broken, is_bounded=self.is_bounded),
        ):
            dispatch.send([put_in_lane(row, self.lane_of(row.task.lane)) for row in rows])
        raise_first(broken)


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
        broken: dict[str, FailureError] = {}
        now_ms = self.tools.clock()
        due_ms = now_ms - round(self.stuck_hours * 3_600_000)
        dispatch = self.tools.dispatch(seconds_left)
        for rows in self.tools.walk.rounds(
            self.name,
            Group.OPEN,
            due_ms=due_ms,
            seconds_left=seconds_left,
            wanted=self.tools.gate.check(stuck_rule(due_ms), broken),
        ):
            over = [row for row in rows if is_exhausted(row, self.retry[row.task.target])]
            self._close(over, now_ms)
            dispatch.send(
                [record_failure(row, STUCK, now_ms=now_ms) for row in rows if row not in over]
            )
        raise_first(broken)

    def _close(self, rows: Sequence[LedgerRow], now_ms: int) -> None:
        """Close rows after their events are sent; one that has changed meanwhile is not stuck."""
        stuck = {row.row_key: row for row in rows}

        def decide(waiting: Rows) -> dict[RowKey, Closed]:
            return {
                key: Closed(give_up_stuck(row, STUCK, now_ms=now_ms) if row is stuck[key] else None)
                for key, row in waiting.items()
            }

        closing = close_rows(
            self.tools.walk.ledger, self.announcements, stuck, decide, refused=lambda _: Closed()
        )
        # What newer code has changed meanwhile is not stuck either; the ledger has said so.
        with suppress(UnreadableRowsError):
            for _, closed, row in closing:
                if closed.row is not None and row is not None:
                    self._log_exhausted(row)

    def _log_exhausted(self, row: LedgerRow) -> None:
        self.tools.telemetry.event(
            "task_exhausted",
            **row.task.log_fields(),
            attempt=row.progress.attempts,
            reason=row.outcome.reason,
        )
        self.tools.telemetry.count("TasksExhausted")


def raise_first(broken: Mapping[str, FailureError]) -> None:
    """Fail with the first of the targets that did, after the others have had their turn."""
    for error in broken.values():
        raise error


def is_exhausted(row: LedgerRow, retry: RetrySettings) -> bool:
    """Tell whether a stuck row has had all attempts of its policy."""
    policy = retry.policy(row.type)
    return row.progress.attempts >= attempts_allowed(policy, STUCK.kind, is_failing=False)
