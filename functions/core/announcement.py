"""The event of a document's end: docs/events.md is the contract. Sent before the row is closed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from functions.core.change import Operation
from functions.core.ledger_row import LedgerRow, Status

if TYPE_CHECKING:
    from functions.core.identity import RowKey
    from functions.core.ports import Announcer, Clock, Telemetry

Final = Literal[
    Status.COMPLETED,
    Status.PARTIALLY_COMPLETED,
    Status.FAILED,
    Status.FAILED_MAX_RETRIES,
    Status.DELETED,
    Status.SKIPPED,
]


@dataclass(frozen=True)
class ChunkCounts:
    """The pieces of the text; those done are searchable."""

    total: int
    done: int
    failed: int


@dataclass(frozen=True)
class EventDetail:
    """The content of an event: ids and numbers, never content of the document."""

    # Raised when a field changes its meaning or goes; others may come under the same number.
    schema: Literal[1]
    stage: str
    target: str
    source: str
    document_id: str
    version: int
    status: Final
    type: str | None
    operation: Literal[Operation.UPSERT, Operation.DELETE]
    chunks: ChunkCounts
    tokens: int
    model: str | None
    attempts: int
    reason: str | None
    written_ms: int
    ended_ms: int


@dataclass(frozen=True)
class Announcements:
    """Sends the events of one stage."""

    announcer: "Announcer"
    telemetry: "Telemetry"
    clock: "Clock"
    stage: str

    def refused(self, rows: Iterable[LedgerRow | None]) -> "set[RowKey]":
        """Send the events of the rows that end; return the rows whose event was refused.

        Those are not to be closed: an event is sent at least once.
        """
        ended = [row for row in rows if row is not None and is_announced(row)]
        if not ended:
            return set()
        details = [event_detail(row, stage=self.stage, at_ms=self.clock()) for row in ended]
        refused = {ended[number].row_key for number in self.announcer.announce(details)}
        if refused:
            self.telemetry.event("announcement_failed", tasks=len(refused))
        return refused


def is_announced(row: LedgerRow) -> bool:
    """Tell whether the row has come to an end: a healing one has not."""
    return not row.status.is_open and not row.is_healing


def event_detail(row: LedgerRow, *, stage: str, at_ms: int) -> EventDetail:
    """Describe the end of a row that is about to be closed at this time."""
    indexed = row.indexed
    return EventDetail(
        schema=1,
        stage=stage,
        target=row.task.target,
        source=row.task.source,
        document_id=row.task.document_id,
        version=row.task.version,
        status=cast("Final", row.status),
        type=row.type or None,
        operation=row.operation,
        chunks=ChunkCounts(indexed.chunks_total, indexed.chunks_done, indexed.chunks_failed),
        tokens=indexed.tokens,
        model=indexed.model or None,
        attempts=row.progress.attempts,
        reason=row.outcome.reason,
        written_ms=row.written_ms,
        ended_ms=at_ms,
    )
