"""Rows -> lanes again, each under a new version, and repeated until the send is confirmed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from functions.core.batches import batches
from functions.core.identity import RowKey
from functions.core.lane import Lane, queue_name
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Clock, Ledger, TaskQueue, Telemetry
from functions.core.transitions import confirm_sent, put_in_lane, requeue, start_over

# BatchGetItem's limit.
ROUND_ROWS = 100


@dataclass(frozen=True)
class Requeue:
    """The step with its dependencies."""

    ledger: Ledger
    queue: TaskQueue
    telemetry: Telemetry
    clock: Clock

    def send(self, rows: Sequence[LedgerRow]) -> list[LedgerRow]:
        """Send rows again under new versions; return those that are on their way.

        Of two that send the same row at once, the ledger lets one win.
        """
        moved = [self._in_a_deployed_lane(row) for row in rows]
        stored = self.ledger.write([requeue(row, now_ms=self.clock()) for row in moved]).stored
        unsent = {task.row_key for task in self.queue.send([row.task for row in stored.values()])}
        for key in unsent:
            self.telemetry.event("task_not_sent", row_key=key)
        sent = [row for key, row in stored.items() if key not in unsent]
        for row in sent:
            self.telemetry.event(
                "task_requeued", **row.task.log_fields(), attempt=row.progress.attempts
            )
        self.telemetry.count("TasksRequeued", len(sent))
        # What is lost here has been started by embed already.
        self.ledger.write([confirm_sent(row) for row in sent])
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
        return row is not None and bool(self.start_over([row], lane))

    def start_over(self, rows: Sequence[LedgerRow], lane: Lane | None) -> list[LedgerRow]:
        """Send documents again with all their attempts; return those that are on their way.

        Without a lane each goes to its own; a source that is sequential has no other.
        """
        over = [start_over(row) for row in rows]
        if lane is None:
            return self.send(over)
        return self.send(
            [row if self._is_sequential(row) else put_in_lane(row, lane) for row in over]
        )

    def _in_a_deployed_lane(self, row: LedgerRow) -> LedgerRow:
        if row.task.lane is not Lane.SEQUENTIAL or self._is_sequential(row):
            return row
        return put_in_lane(row, Lane.NORMAL)

    def _is_sequential(self, row: LedgerRow) -> bool:
        """Tell whether its source still is: the queue goes with the setting, the row stays."""
        name = queue_name(Lane.SEQUENTIAL, row.task.source)
        return row.task.lane is Lane.SEQUENTIAL and self.queue.has_queue(row.task.target, name)
