"""Changes -> ledger -> lanes. A version is in the ledger before its task is sent, so that a
crash between the two is repaired by the stream's redelivery."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from functions.core.change import Change, Rejected
from functions.core.failure import FailureError
from functions.core.identity import RowKey, row_key
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Clock, Ledger, TaskQueue, Telemetry
from functions.core.settings import SourceSettings, TargetSettings
from functions.core.task import Task
from functions.core.transitions import leave_to_sweep, reject
from functions.enqueue.plan import Outcome, Plan, plan_change

METRICS = {
    Outcome.ACCEPTED: "ChangesAccepted",
    Outcome.REPEATED: "ChangesRepeated",
    Outcome.STALE: "ChangesStale",
    Outcome.UNCHANGED: "ChangesUnchanged",
}


@dataclass(frozen=True)
class Coalesced:
    """All changes of one document in a batch: only the last counts."""

    last: Change
    # Reported when the document fails: the stream then comes again from here on.
    first_sequence_number: str
    inserted: bool


@dataclass(frozen=True)
class Enqueue:
    """The step with its boxes."""

    ledger: Ledger
    queue: TaskQueue
    telemetry: Telemetry
    clock: Clock
    sources: Mapping[str, SourceSettings]
    targets: Mapping[str, TargetSettings]

    def process(self, changes: Sequence[Change], *, trace_id: str = "") -> list[str]:
        """Bring changes into the lanes; return the sequence numbers that failed."""
        documents = coalesce(changes)
        self.telemetry.count("ChangesCoalesced", len(changes) - len(documents))
        owed = self._wanted(documents)
        plans = self._plan(owed, trace_id)
        unsent = {task.row_key for task in self._send(plans.values())}
        lost = self._leave_to_sweep([plans[key].row for key in unsent]) if unsent else set()
        return [owed[key][0].first_sequence_number for key in lost]

    def _leave_to_sweep(self, rows: Sequence[LedgerRow]) -> set[RowKey]:
        """Let the sweep send what a queue refused; return what the ledger refused, too.

        So a queue in trouble does not hold back the other documents and targets of its batch.
        """
        for row in rows:
            self.telemetry.event("task_not_sent", **row.task.log_fields())
            self.telemetry.count("TasksNotSent")
        late = [leave_to_sweep(row, now_ms=self.clock()) for row in rows]
        try:
            # What lost against another writer has been received, or is a newer version's.
            self.ledger.write(late)
        except FailureError as error:
            self.telemetry.event("ledger_failed", failure=str(error), tasks=len(late))
            return {row.row_key for row in late}
        return set()

    def reject(self, records: Sequence[Rejected]) -> None:
        """Record what cannot be parsed as failed, with its reason."""
        now_ms = self.clock()
        rows = []
        for record in records:
            self.telemetry.event("change_rejected", event_id=record.event_id, reason=record.reason)
            self.telemetry.count("ChangesRejected")
            rows += [
                reject(record, target=target, now_ms=now_ms)
                for target in self.sources[record.source].targets
            ]
        # A row that stands there already is the same record, delivered again.
        self.ledger.write(rows)

    def _wanted(
        self, documents: Sequence[Coalesced]
    ) -> dict[RowKey, tuple[Coalesced, TargetSettings]]:
        return {
            row_key(name, document.last.source, document.last.document_id): (
                document,
                self.targets[name],
            )
            for document in documents
            for name in self.sources[document.last.source].targets
        }

    def _plan(
        self, wanted: Mapping[RowKey, tuple[Coalesced, TargetSettings]], trace_id: str
    ) -> dict[RowKey, Plan]:
        # A document that is new to the table is most likely new to the ledger: no read.
        rows: dict[RowKey, LedgerRow | None] = dict.fromkeys(wanted)
        rows.update(self.ledger.read(k for k, (doc, _) in wanted.items() if not doc.inserted))
        plans: dict[RowKey, Plan] = {}
        # In the order of the stream: a sequential source is worked in the order of its writes.
        open_keys = list(wanted)
        while open_keys:
            for key in open_keys:
                document, target = wanted[key]
                plans[key] = plan_change(
                    document.last,
                    rows[key],
                    source=self.sources[document.last.source],
                    target=target,
                    now_ms=self.clock(),
                    trace_id=trace_id,
                )
            accepted = [
                plans[key].row for key in open_keys if plans[key].outcome is Outcome.ACCEPTED
            ]
            # What lost against another writer is planned anew on what stands there now.
            swapped = self.ledger.write(accepted)
            for key, stored in swapped.stored.items():
                plans[key] = replace(plans[key], row=stored)
            rows.update(swapped.lost)
            open_keys = [key for key in open_keys if key in swapped.lost]
        return plans

    def _send(self, plans: Iterable[Plan]) -> list[Task]:
        tasks = []
        for plan in plans:
            task = plan.row.task
            self.telemetry.event(str(plan.outcome), **task.log_fields())
            self.telemetry.count(METRICS[plan.outcome])
            if plan.sends:
                tasks.append(task)
        return self.queue.send(tasks)


def coalesce(changes: Sequence[Change]) -> list[Coalesced]:
    """Keep the last change of each document, in the order of the first ones."""
    documents: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        documents.setdefault((change.source, change.document_id), []).append(change)
    return [
        Coalesced(
            last=max(same, key=lambda change: change.position),
            first_sequence_number=min(same, key=lambda change: change.position).sequence_number,
            inserted=any(change.inserted for change in same),
        )
        for same in documents.values()
    ]
