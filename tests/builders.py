"""Values for tests: valid by default, one field overridden at a time."""

from dataclasses import fields, replace
from typing import Any

from functions.core.change import Change, Operation, Position
from functions.core.document import Document
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Message
from functions.core.settings import SourceSettings, TargetSettings
from functions.core.task import Task
from local.memory.pipeline import MemoryPipeline

NOW_MS = 1_700_000_000_000
STREAM = "2026-01-01T00:00:00.000"


def make_source(**changes: Any) -> SourceSettings:
    values: dict[str, Any] = {
        "name": "articles",
        "table": "articles-table",
        "key": ("id",),
        "text": "{body}",
    }
    return SourceSettings(**values | changes)


def make_target(**changes: Any) -> TargetSettings:
    values: dict[str, Any] = {
        "name": "default",
        "model": "text-embedding-3-small",
        "dimensions": 16,
        "index": "articles-index",
    }
    return TargetSettings(**values | changes)


def make_pipeline(
    *, source: dict[str, Any] | None = None, target: dict[str, Any] | None = None, **rest: Any
) -> MemoryPipeline:
    return MemoryPipeline([make_source(**(source or {}))], [make_target(**(target or {}))], **rest)


def make_change(**changes: Any) -> Change:
    values: dict[str, Any] = {
        "source": "articles",
        "document_id": DocumentId("a"),
        "key": {"id": {"S": "a"}},
        "position": make_position(100),
        "sequence_number": "100",
        "written_ms": NOW_MS,
        "removed": False,
        "content": Document("hello", "document"),
    }
    return Change(**values | changes)


def make_position(number: int, stream: str = STREAM) -> Position:
    return Position.of(stream, str(number))


def make_row(**changes: Any) -> LedgerRow:
    row = LedgerRow(
        task=make_task(),
        position=make_position(50),
        operation=Operation.UPSERT,
        status=Status.PENDING,
        created_ms=NOW_MS,
        queued_ms=NOW_MS,
        written_ms=NOW_MS,
        revision=1,
    )
    return changed(row, **changes)


def changed(row: LedgerRow, **changes: Any) -> LedgerRow:
    """Change fields of a row, those of its parts by their own names."""
    for part in ("task", "progress", "outcome", "indexed"):
        names = {field.name for field in fields(getattr(row, part))} & changes.keys()
        mine = {name: changes.pop(name) for name in names}
        row = replace(row, **{part: replace(getattr(row, part), **mine)})
    return replace(row, **changes)


def make_task(**changes: Any) -> Task:
    values: dict[str, Any] = {
        "target": "default",
        "source": "articles",
        "document_id": DocumentId("a"),
        "key": {"id": {"S": "a"}},
        "version": NOW_MS,
        "lane": Lane.NORMAL,
    }
    return Task(**values | changes)


def make_message(task: Task | None = None, **changes: Any) -> Message:
    values: dict[str, Any] = {
        "message_id": "message-1",
        "receipt_handle": "receipt-1",
        "body": (task or make_task()).to_json(),
        "queue": "default/normal",
        "receive_count": 1,
        "sent_ms": NOW_MS,
    }
    return Message(**values | changes)
