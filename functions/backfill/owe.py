"""Documents that are owed -> ledger -> lanes. The row is written before its task is sent."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.core.identity import RowKey, row_key
from functions.core.owing import Owed, OwePlan, OweResult, plan_owed
from functions.core.ports import Clock, Ledger, TaskQueue, Telemetry, UnreadableRowsError
from functions.core.swap import Rows, readable_rows, swap_until_settled
from functions.core.transitions import leave_to_sweep
from functions.core.verification import Pair

if TYPE_CHECKING:
    from functions.core.ledger_row import LedgerRow


@dataclass(frozen=True)
class Owe:
    """The step with its dependencies."""

    ledger: Ledger
    queue: TaskQueue
    telemetry: Telemetry
    clock: Clock

    def send(self, documents: Sequence[Owed], pair: Pair, *, since_ms: int) -> Counter[OweResult]:
        """Bring documents into their lane; those whose rows newer code wrote are left to it."""
        target, source = pair.target.name, pair.source.name
        wanted = {row_key(target, source, one.document_id): one for one in documents}

        def decide(waiting: Rows) -> dict[RowKey, OwePlan]:
            return {
                key: plan_owed(
                    wanted[key],
                    row,
                    target=target,
                    source=source,
                    since_ms=since_ms,
                    now_ms=self.clock(),
                )
                for key, row in waiting.items()
            }

        results: Counter[OweResult] = Counter()
        sending: dict[RowKey, tuple[OwePlan, LedgerRow]] = {}
        rows = readable_rows(self.ledger, wanted)
        # What newer code has written meanwhile, it has sent as well.
        with suppress(UnreadableRowsError):
            for key, plan, row in swap_until_settled(self.ledger, rows, decide):
                results[plan.result] += 1
                if plan.sends and row is not None:
                    sending[key] = plan, row
        tasks = [row.task for _, row in sending.values()]
        unsent = [sending[task.row_key][1] for task in self.queue.send(tasks)]
        for row in unsent:
            self.telemetry.event("task_not_sent", **row.task.log_fields())
            self.telemetry.count("TasksNotSent")
        # What lost against another writer has been received, or is a newer version's.
        self.ledger.write([leave_to_sweep(row, now_ms=self.clock()) for row in unsent])
        for plan, row in sending.values():
            self.telemetry.event(str(plan.result), **row.task.log_fields())
        return results
