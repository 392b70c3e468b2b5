"""How a document ended, as the world is told: docs/events.md is the contract. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from functions.core.change import Operation
from functions.core.ledger_row import LedgerRow, Status

EVENT_SOURCE = "embedq"

Final = Literal[
    Status.COMPLETED,
    Status.PARTIALLY_COMPLETED,
    Status.FAILED,
    Status.FAILED_MAX_RETRIES,
    Status.DELETED,
    Status.SKIPPED,
]

DETAIL_TYPES = {
    Status.COMPLETED: "Document Completed",
    Status.PARTIALLY_COMPLETED: "Document Partially Completed",
    Status.FAILED: "Document Failed",
    Status.FAILED_MAX_RETRIES: "Document Failed",
    Status.DELETED: "Document Deleted",
    Status.SKIPPED: "Document Skipped",
}


@dataclass(frozen=True)
class ChunkCounts:
    """The pieces of the text; those done are searchable."""

    total: int
    done: int
    failed: int


@dataclass(frozen=True)
class EventDetail:
    """What an event tells: ids and numbers, never content."""

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


def is_announced(row: LedgerRow) -> bool:
    """Tell whether the row has come to an end: a healing one has not."""
    return row.status in DETAIL_TYPES and not row.is_healing


def announcement(row: LedgerRow, *, stage: str, at_ms: int) -> Mapping[str, Any]:
    """Build the event of a row that is about to be closed at this time."""
    indexed = row.indexed
    detail = EventDetail(
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
    return {
        "Source": EVENT_SOURCE,
        "DetailType": DETAIL_TYPES[row.status],
        "Detail": asdict(detail),
    }
