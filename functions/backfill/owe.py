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

        settled: list[tuple[RowKey, OwePlan, LedgerRow | None]] = []
        # What newer code has written meanwhile, it has sent as well.
        with suppress(UnreadableRowsError):
            rows = readable_rows(self.ledger, wanted)
            settled.extend(swap_until_settled(self.ledger, rows, decide))
        sending = {key: row for key, plan, row in settled if plan.sends and row is not None}
        unsent = {task.row_key for task in self.queue.send([r.task for r in sending.values()])}
        for key in unsent:
            self.telemetry.event("task_not_sent", **sending[key].task.log_fields())
            self.telemetry.count("TasksNotSent")
        # What lost against another writer has been received, or is a newer version's.
        late = [leave_to_sweep(sending[key], now_ms=self.clock()) for key in unsent]
        self.ledger.write(late)
        for _, plan, row in settled:
            if row is not None and plan.sends:
                self.telemetry.event(str(plan.result), **row.task.log_fields())
        return Counter(plan.result for _, plan, _ in settled)
