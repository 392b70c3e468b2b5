"""An entry: one document in the index, replaced as a whole under its version."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from functions.core.failure import Failure
from functions.core.identity import DocumentId, EntryId, entry_id

if TYPE_CHECKING:
    import numpy as np

# Spelled as a string: sweep and breaker run without numpy.
Vector: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"


NO_DOCUMENT = DocumentId("")


@dataclass(frozen=True)
class Chunk:
    """A piece of the text with its vector."""

    text: str
    hash: str
    vector: Vector
    start: int | None = None  # its place in the document's text, in characters


@dataclass(frozen=True)
class Entry:
    """What a search finds."""

    source: str
    document_id: DocumentId
    version: int
    content_hash: str
    type: str
    metadata: Mapping[str, Any]
    chunks: tuple[Chunk, ...]
    written_ms: int
    model: str  # that made the vectors
    chunks_failed: int = 0  # that have no vector, and never will

    @property
    def entry_id(self) -> EntryId:
        return entry_id(self.source, self.document_id)


@dataclass(frozen=True)
class Tombstone:
    """What a deleted document leaves behind.

    OpenSearch forgets the version of a real delete after a minute or a restart; a late run
    would then bring the document back. This one still answers 409.
    """

    source: str
    document_id: DocumentId
    version: int
    content_hash: str | None
    reason: str | None  # why the document was skipped; None: its item is gone
    deleted_ms: int

    @property
    def entry_id(self) -> EntryId:
        return entry_id(self.source, self.document_id)


@dataclass(frozen=True)
class StoredEntry:
    """What the index holds for a document now."""

    version: int
    deleted: bool
    content_hash: str | None
    reason: str | None = None
    vectors: Mapping[str, Vector] = field(default_factory=dict)  # by chunk hash
    chunks: int = 0
    chunks_failed: int = 0
    document_id: DocumentId = NO_DOCUMENT
    model: str = ""
    written_ms: int = 0


@dataclass(frozen=True)
class Hit:
    """A document that a search found, with its best chunk."""

    source: str
    document_id: str
    type: str
    score: float
    text: str
    metadata: Mapping[str, Any]
    start: int | None = None  # of the chunk in the document's text, in characters


class Written(StrEnum):
    """How the index took a write."""

    WRITTEN = "written"
    CONFLICT = "conflict"  # it holds this version already, or a newer one


WriteResult = Written | Failure
