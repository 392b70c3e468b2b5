"""A change: one stream record, in our words."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functions.core.document import Document, Unusable
    from functions.core.identity import DocumentId, ItemKey

SEQUENCE_DIGITS = 40


class Operation(StrEnum):
    """What a change or a run does to the document's entry."""

    UPSERT = "upsert"
    DELETE = "delete"


@dataclass(frozen=True, order=True, slots=True)
class Position:
    """Where a change stands in its stream; only positions of one stream have an order."""

    stream: str
    sequence: str

    @classmethod
    def of(cls, stream: str, sequence_number: str) -> "Position":
        # Sequence numbers are strings of 21 to 40 digits: padded, text order is their order.
        return cls(stream, sequence_number.zfill(SEQUENCE_DIGITS))


# Of a document that no stream record has spoken of: every position of a stream is newer.
NOWHERE = Position("", "")


@dataclass(frozen=True)
class Change:
    """One write to a document: what it is now, as far as the stream carries it."""

    source: str
    document_id: "DocumentId"
    key: "ItemKey"
    position: Position
    sequence_number: str  # as the stream spells it, for reporting a failure
    written_ms: int
    removed: bool
    inserted: bool = False  # the table had no such item before
    # None where the stream carries keys only.
    content: "Document | Unusable | None" = None
    priority: str | None = None
    tenant: str | None = None  # None: the change does not carry it

    @property
    def operation(self) -> Operation:
        return Operation.DELETE if self.removed else Operation.UPSERT

    @property
    def type(self) -> str:
        """The document's type, empty where the change does not carry it."""
        return self.content.type if self.content is not None else ""


@dataclass(frozen=True)
class Rejected:
    """A stream record that names no document; it is recorded, and never blocks its shard."""

    source: str
    event_id: str
    position: Position
    reason: str


class UnreadableBatchError(ValueError):
    """What lies among the failed changes is not what Lambda writes there."""
