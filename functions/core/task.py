"""A task: what a queue carries. Pointers only: the text is read when the task is worked."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from functions.core.identity import (
    DocumentId,
    RowKey,
    deduplication_id,
    message_group,
    row_key,
)
from functions.core.lane import Lane, queue_name


class MalformedTaskError(ValueError):
    """A queue message is not a task of ours."""


@dataclass(frozen=True, slots=True)
class Task:
    """One document in one target, to be brought to at least one version."""

    target: str
    source: str
    document_id: DocumentId
    key: dict[str, dict[str, str]]
    version: int
    lane: Lane
    trace_id: str = ""
    tenant: str = ""  # its message group in a standard lane
    copy: str = ""  # makes SQS take a task that it has taken before

    @property
    def row_key(self) -> RowKey:
        return row_key(self.target, self.source, self.document_id)

    @property
    def deduplication_id(self) -> str:
        return deduplication_id(self.row_key, self.version, self.copy)

    @property
    def group(self) -> str:
        if self.lane is Lane.SEQUENTIAL:
            return str(self.lane)
        return message_group(self.source, self.document_id)

    @property
    def queue(self) -> str:
        return queue_name(self.lane, self.source)

    def to_json(self) -> str:
        # ASCII only: SQS refuses some characters that a document id may have.
        return json.dumps(asdict(self), separators=(",", ":"))

    def log_fields(self) -> dict[str, Any]:
        """Name the task in a log line."""
        return {
            "target": self.target,
            "source": self.source,
            "document_id": self.document_id,
            "version": self.version,
            "lane": str(self.lane),
            "trace_id": self.trace_id,
        }


_TASK = TypeAdapter(Task)


def parse_task(body: str) -> Task:
    """Read a message body, or refuse it."""
    try:
        return _TASK.validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise MalformedTaskError(f"{where}: {first['msg']}") from None
