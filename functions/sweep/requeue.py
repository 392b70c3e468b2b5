"""Rows -> lanes again. A requeue takes a new version, and is owed until its send is confirmed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from functions.core.batches import batches
from functions.core.identity import RowKey
from functions.core.lane import Lane, queue_name
from functions.core.ledger_row import LedgerRow, Status, next_version
from functions.core.ports import Clock, Ledger, TaskQueue, Telemetry
from functions.core.transitions import new_life

# BatchGetItem's limit.
ROUND_ROWS = 100
# A sweep that dies between the ledger and the queue leaves its row due then: this costs
# minutes, where an open row without a message would lie for a day.
CONFIRM_MS = 5 * 60 * 1000


def owed(row: LedgerRow, *, now_ms: int) -> LedgerRow:
    """Give a row the version that is sent next; SQS swallows a repeated one."""
    return replace(
        row,
        version=next_version(row.version, now_ms),
        status=Status.PENDING,
        queued_ms=now_ms,
        receive_count=0,
        next_attempt_ms=now_ms + CONFIRM_MS,
        parked=False,
        sent=False,
        completed_ms=None,
        failed_ms=None,
        reason=None,
        content_hash=None,
        expires_at=None,
    )


def confirmed(row: LedgerRow) -> LedgerRow:
    """Note that the message of an owed row is in its lane."""
    return replace(row, sent=True, next_attempt_ms=None)


@dataclass(frozen=True)
class Requeue:
    """The step with its boxes."""

    ledger: Ledger
    queue: TaskQueue
    telemetry: Telemetry
    clock: Clock

    def send(self, rows: Sequence[LedgerRow]) -> list[LedgerRow]:
        """Send rows again under new versions; return those that are on their way.

        Of two that send the same row at once, the ledger lets one win.
        """
        mine = [self._in_a_lane_that_is_there(row) for row in rows]
        stored = self.ledger.write([owed(row, now_ms=self.clock()) for row in mine]).stored
        unsent = {task.row_key for task in self.queue.send([row.task for row in stored.values()])}
        for key in unsent:
            self.telemetry.event("task_not_sent", row_key=key)
        sent = [row for key, row in stored.items() if key not in unsent]
        for row in sent:
            self.telemetry.event("task_requeued", **row.task.log_fields(), attempt=row.attempts)
        self.telemetry.count("TasksRequeued", len(sent))
        # What is lost here has been started by embed already.
        self.ledger.write([confirmed(row) for row in sent])
        return sent

    def requeue(self, keys: Iterable[RowKey]) -> int:
        """Send the open ones of these rows again; return how many."""
        return sum(
            len(self.send([row for row in self.ledger.read(part).values() if row.status.is_open]))
            for part in batches(list(keys), ROUND_ROWS)
        )

    def push(self, key: RowKey, lane: Lane) -> bool:
        """Send one document again at a person's wish, whatever became of it; return whether."""
        row = self.ledger.read([key]).get(key)
        if row is None:
            return False
        # A person's retry starts anew; a source that is sequential has no other lane.
        wanted = row.lane if self._is_sequential(row) else lane
        return bool(self.send([replace(new_life(row), lane=wanted)]))

    def _in_a_lane_that_is_there(self, row: LedgerRow) -> LedgerRow:
        if row.lane is not Lane.SEQUENTIAL or self._is_sequential(row):
            return row
        return replace(row, lane=Lane.NORMAL)

    def _is_sequential(self, row: LedgerRow) -> bool:
        """Tell whether its source still is: the queue goes with the setting, the row stays."""
        name = queue_name(Lane.SEQUENTIAL, row.source)
        return row.lane is Lane.SEQUENTIAL and self.queue.has_queue(row.target, name)
