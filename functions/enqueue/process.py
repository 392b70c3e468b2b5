"""Changes -> ledger -> lanes. A version is in the ledger before its task is sent, so that a
crash between the two is repaired by the stream's redelivery."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from functions.core.change import Change, Rejected
from functions.core.control import log_unreadable
from functions.core.failure import FailureError
from functions.core.identity import RowKey, row_key
from functions.core.lane import lane_for
from functions.core.ledger_row import LedgerRow
from functions.core.ports import (
    Clock,
    ControlStore,
    Ledger,
    TaskQueue,
    Telemetry,
    UnreadableRowsError,
)
from functions.core.settings import SourceSettings, TargetSettings
from functions.core.swap import Rows, swap_until_settled
from functions.core.task import Task
from functions.core.transitions import leave_to_sweep, reject
from functions.enqueue.plan import ChangeResult, Plan, plan_change

METRICS = {
    ChangeResult.ACCEPTED: "ChangesAccepted",
    ChangeResult.REPEATED: "ChangesRepeated",
    ChangeResult.STALE: "ChangesStale",
    ChangeResult.UNCHANGED: "ChangesUnchanged",
}


@dataclass(frozen=True)
class Coalesced:
    """All changes of one document in a batch: only the last counts."""

    last: Change
    # Reported when the document fails: the stream then comes again from here on.
    first: Change
    inserted: bool


@dataclass(frozen=True)
class Wanted:
    """A document that a target is to hold, by its last change."""

    document: Coalesced
    source: SourceSettings
    target: TargetSettings


@dataclass(frozen=True)
class Enqueue:
    """The step with its dependencies."""

    ledger: Ledger
    queue: TaskQueue
    control: ControlStore
    telemetry: Telemetry
    clock: Clock
    sources: Mapping[str, SourceSettings]
    targets: Mapping[str, TargetSettings]

    def process(self, changes: Sequence[Change], *, trace_id: str = "") -> list[str]:
        """Bring changes into the lanes; return the sequence numbers that failed."""
        documents = coalesce(changes)
        self.telemetry.count("ChangesCoalesced", len(changes) - len(documents))
        for document in documents:
            self._log_unknown_priority(document.last)
        wanted = self._wanted(documents)
        known, unreadable = self._read(wanted)
        planned = before_unreadable(wanted, unreadable)
        plans = self._plan(planned, known, trace_id)
        # A row of newer code may also be met by the write.
        unreadable |= planned.keys() - plans.keys()
        sending = [plans[key] for key in before_unreadable(wanted, unreadable)]
        unsent = {task.row_key for task in self._send(sending)}
        lost = self._leave_to_sweep([plans[key][1] for key in unsent]) if unsent else set()
        return [wanted[key].document.first.sequence_number for key in lost | unreadable]

    def _read(self, wanted: Mapping[RowKey, Wanted]) -> tuple[dict[RowKey, LedgerRow], set[RowKey]]:
        """Read the rows, and name those that newer code wrote."""
        # A document that is new to the table is most likely new to the ledger: no read.
        keys = [key for key, one in wanted.items() if not one.document.inserted]
        try:
            return self.ledger.read(keys), set()
        except UnreadableRowsError as error:
            self._log_unreadable_rows(error)
            return error.rows, set(error.keys)

    def _log_unreadable_rows(self, error: UnreadableRowsError) -> None:
        self.telemetry.event("ledger_failed", failure=str(error), tasks=len(error.keys))

    def _log_unknown_priority(self, change: Change) -> None:
        """Log it without its value, which is the application's: the lane is the normal one."""
        if change.priority is not None and lane_for(change.priority) is None:
            self.telemetry.event(
                "priority_unknown", source=change.source, document_id=change.document_id
            )

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
        # A row that stands there already is the same record, delivered again, whoever wrote it.
        self.ledger.write(rows)

    def _wanted(self, documents: Sequence[Coalesced]) -> dict[RowKey, Wanted]:
        found = [
            Wanted(document, source, self.targets[name])
            for document in documents
            for source in [self.sources[document.last.source]]
            for name in source.targets
        ]
        return {
            row_key(one.target.name, one.source.name, one.document.last.document_id): one
            for one in found
        }

    def _plan(
        self, wanted: Mapping[RowKey, Wanted], known: Rows, trace_id: str
    ) -> dict[RowKey, tuple[Plan, LedgerRow]]:
        """Decide on each document, and write what is accepted; return the rows as they stand.

        Those that newer code wrote are left out.
        """

        index_uuid = cache(self._index_uuid)

        def plan(one: Wanted, row: LedgerRow | None) -> Plan:
            return plan_change(
                one.document.last,
                row,
                source=one.source,
                target=one.target,
                index_uuid=index_uuid(one.target.name) if row else None,
                now_ms=self.clock(),
                trace_id=trace_id,
            )

        def decide(rows: Rows) -> dict[RowKey, Plan]:
            return {key: plan(wanted[key], row) for key, row in rows.items()}

        rows: Rows = {key: known.get(key) for key in wanted}
        settled: dict[RowKey, tuple[Plan, LedgerRow]] = {}
        try:
            for key, decided, row in swap_until_settled(self.ledger, rows, decide):
                if row is not None:
                    settled[key] = decided, row
        except UnreadableRowsError as error:
            self._log_unreadable_rows(error)
        # In the order of the stream: a sequential source is worked in the order of its writes.
        return {key: settled[key] for key in wanted if key in settled}

    def _index_uuid(self, target: str) -> str | None:
        try:
            return self.control.read(target).index_uuid
        except FailureError as error:
            # Then nothing counts as unchanged: that costs a write of the index, and no vector.
            log_unreadable(self.telemetry, target, error)
            return None

    def _send(self, plans: Iterable[tuple[Plan, LedgerRow]]) -> list[Task]:
        tasks = []
        for plan, row in plans:
            self.telemetry.event(str(plan.result), **row.task.log_fields())
            self.telemetry.count(METRICS[plan.result])
            if plan.sends:
                tasks.append(row.task)
        return self.queue.send(tasks)


def coalesce(changes: Sequence[Change]) -> list[Coalesced]:
    """Keep the last change of each document, in the order of the first ones."""
    documents: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        documents.setdefault((change.source, change.document_id), []).append(change)
    return [
        Coalesced(
            last=max(same, key=lambda change: change.position),
            first=min(same, key=lambda change: change.position),
            inserted=any(change.inserted for change in same),
        )
        for same in documents.values()
    ]


def before_unreadable(
    wanted: Mapping[RowKey, Wanted], unreadable: Collection[RowKey]
) -> Mapping[RowKey, Wanted]:
    """Return the documents whose changes come before those to rows of newer code.

    There the shard waits until that code is there again: what comes later in it waits, too, and
    would else be sent once more at each of its tries.
    """
    if not unreadable:
        return wanted
    stop = min(wanted[key].document.first.position for key in unreadable)
    return {key: one for key, one in wanted.items() if one.document.last.position < stop}
