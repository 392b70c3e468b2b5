"""What a document's entry should be, and how it differs. Pure; the ledger is only a witness."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from functions.core.document import Document, content_hash, read_document
from functions.core.entry import StoredEntry
from functions.core.entry_shape import NO_BUCKET
from functions.core.identity import BUCKETS, DocumentId
from functions.core.ledger_row import LedgerRow
from functions.core.settings import SourceSettings, TargetSettings


class Kind(StrEnum):
    """How an entry differs from its item."""

    MISSING = "missing"
    STALE = "stale"
    ORPHANED = "orphaned"
    WITHOUT_VECTORS = "without vectors"
    WRONG_MODEL = "wrong model"
    WRONG_VERSION = "wrong version"


@dataclass(frozen=True)
class Pair:
    """A source and a target that it feeds: a table and an index that must agree."""

    source: SourceSettings
    target: TargetSettings

    @property
    def name(self) -> str:
        return f"{self.target.name}/{self.source.name}"


@dataclass(frozen=True)
class Sighting:
    """A document as table, index and ledger have it."""

    document_id: DocumentId
    item: Mapping[str, Any] | None
    entry: StoredEntry | None = None
    has_vectors: bool = True
    row: LedgerRow | None = None

    @property
    def live(self) -> StoredEntry | None:
        """The entry, if a search can find it."""
        return None if self.entry is None or self.entry.deleted else self.entry

    def wanted_hash(self, pair: Pair) -> str | None:
        """Return the hash of the entry that the item asks for; None: it asks for none."""
        if self.item is None:
            return None
        content = read_document(self.item, pair.source)
        return content_hash(content, pair.target) if isinstance(content, Document) else None


def difference(seen: Sighting, pair: Pair) -> Kind | None:
    """Say how the entry of a document differs from what its item asks for."""
    wanted, found = seen.wanted_hash(pair), seen.live
    if found is None:
        return None if wanted is None else Kind.MISSING
    if wanted is None:
        return Kind.ORPHANED
    if found.content_hash != wanted:
        is_other_model = bool(found.model) and found.model != pair.target.model
        return Kind.WRONG_MODEL if is_other_model else Kind.STALE
    if not seen.has_vectors:
        return Kind.WITHOUT_VECTORS
    row = seen.row
    # Rows of documents that were completed long ago have expired.
    if row is not None and row.status.is_searchable and row.task.version != found.version:
        return Kind.WRONG_VERSION
    return None


def is_known(row: LedgerRow | None) -> bool:
    """Tell whether the ledger says why an entry is not there yet: on its way, or failed."""
    return row is not None and (row.status.is_open or row.status.is_failed)


def buckets_of_slice(number: int, slices: int) -> list[int]:
    """Return the buckets that are compared with one slice of a table."""
    own = range(-(-number * BUCKETS // slices), -(-(number + 1) * BUCKETS // slices))
    # Entries without a bucket are few, or all: they are looked at with the first slice.
    return [NO_BUCKET, *own] if number == 0 else list(own)
