"""Rows -> lanes again. A requeue takes a new version: SQS swallows a repeated one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from functions.core.batches import batches
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status, next_version
from functions.core.ports import Clock, Ledger, TaskQueue, Telemetry
from functions.core.transitions import new_life

# BatchGetItem's limit.
ROUND_ROWS = 100


@dataclass(frozen=True)
class Requeue:
    """The step with its boxes."""

    ledger: Ledger
    queue: TaskQueue
    telemetry: Telemetry
    clock: Clock

    def requeue(self, keys: Iterable[RowKey]) -> int:
        """Send the open ones of these rows again; return how many."""
        return sum(self._round(part) for part in batches(list(keys), ROUND_ROWS))

    def _round(self, keys: Sequence[RowKey]) -> int:
        rows = [row for row in self.ledger.read(keys).values() if row.status.is_open]
        # What lost against another writer has just been given a version by that one.
        stored = self.ledger.write([self._again(row) for row in rows]).stored.values()
        unsent = self.queue.send([row.task for row in stored])
        for row in stored:
            self.telemetry.event("task_requeued", **row.task.log_fields())
        return len(stored) - len(unsent)

    def push(self, key: RowKey, lane: Lane) -> bool:
        """Send one document again at a person's wish, whatever became of it; return whether."""
        row = self.ledger.read([key]).get(key)
        if row is None:
            return False
        # A person's retry starts anew; a source that is sequential has no other lane.
        wanted = row.lane if row.lane is Lane.SEQUENTIAL else lane
        fresh = replace(new_life(self._again(row)), lane=wanted, expires_at=None)
        stored = self.ledger.write([fresh]).stored.values()
        unsent = self.queue.send([row.task for row in stored])
        return bool(stored) and not unsent

    def _again(self, row: LedgerRow) -> LedgerRow:
        now_ms = self.clock()
        return replace(
            row,
            version=next_version(row.version, now_ms),
            status=Status.PENDING,
            queued_ms=now_ms,
            receive_count=0,
            next_attempt_ms=None,
            content_hash=None,
        )
