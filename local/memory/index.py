"""Vectors in memory: a hashing embedder, and a k-NN index with versions and exact search."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from functions.core.entry import Entry, Hit, StoredEntry, Tombstone, Vector, WriteResult, Written
from functions.core.entry_shape import BucketSum
from functions.core.failure import Failure, FailureKind, MissingIndexError
from functions.core.filters import Condition, Test
from functions.core.identity import EntryId, bucket_of, check_of, version_bits
from functions.core.ports import Embedded, ProviderLimits
from functions.core.search import Question, ServedIndex
from local.memory.finding import find
from local.provider.vectors import HashedVectors

MISSING = Failure(FailureKind.CONFIGURATION, "OpenSearch has no index behind the alias")


class MemoryIndex:
    """Takes an entry only under a version above the one it holds."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self.entries: dict[EntryId, Entry | Tombstone] = {}
        self._removed: dict[EntryId, int] = {}  # versions of deletes that are not forgotten yet
        self.uuid: str | None = "index-1"  # None: the index is gone

    def lose(self, uuid: str | None = None) -> None:
        """Lose the index with all its entries; with a UUID, a new one is in its place."""
        self.entries = {}
        self.forget()
        self.uuid = uuid

    def forget(self) -> None:
        """Forget the versions of deletes, as after `gc_deletes` or the restart of a node."""
        self._removed = {}

    def delete(self, name: EntryId, version: int) -> None:
        """Delete an entry under a version; this is known until it is forgotten."""
        self.entries.pop(name, None)
        self._removed[name] = version

    def read(
        self, ids: Sequence[EntryId], *, hashes: Collection[str] = ()
    ) -> dict[EntryId, StoredEntry]:
        if self.uuid is None:
            raise MissingIndexError(MISSING)
        return {name: _stored(self.entries[name], hashes) for name in ids if name in self.entries}

    def write(
        self,
        entries: Sequence[Entry | Tombstone],
        *,
        searchable_now: bool,  # noqa: ARG002
    ) -> dict[EntryId, WriteResult]:
        if self.uuid is None:
            return {entry.entry_id: MISSING for entry in entries}
        return {entry.entry_id: self._write(entry) for entry in entries}

    def remove(self, tombstones: Mapping[EntryId, int]) -> list[EntryId]:
        if self.uuid is None:
            raise MissingIndexError(MISSING)
        return [name for name, version in tombstones.items() if self._remove(name, version)]

    def search(
        self, vector: Vector, *, most: int = 10, metadata: Mapping[str, Any] | None = None
    ) -> list[Hit]:
        """Return the nearest documents by exact cosine, best first."""
        equal = [Condition((Test(name, "keyword", one),)) for name, one in (metadata or {}).items()]
        return self.ask(Question("knn", vector=vector, conditions=tuple(equal), most=most))

    def ask(self, question: Question) -> list[Hit]:
        """Return the best documents, best first."""
        live = [one for one in self.entries.values() if isinstance(one, Entry) and one.chunks]
        return find(live, question)

    def summaries(self, ids: Sequence[EntryId]) -> dict[EntryId, StoredEntry]:
        return self.read(ids)

    def without_vectors(self, ids: Sequence[EntryId]) -> set[EntryId]:
        found = {name: self.entries[name] for name in ids if name in self.entries}
        return {name for name, one in found.items() if isinstance(one, Entry) and not one.chunks}

    def page(
        self,
        source: str,
        *,
        after: str | None,
        most: int,
        buckets: Collection[int] | None = None,
    ) -> list[StoredEntry]:
        live = sorted(
            (one.document_id, name)
            for name, one in self.entries.items()
            if isinstance(one, Entry)
            and one.source == source
            and (buckets is None or bucket_of(name) in buckets)
        )
        return [_stored(self.entries[name]) for id_, name in live if id_ > (after or "")][:most]

    def refresh(self) -> None:
        """Do nothing: what is written is seen at once."""

    def sums(self, source: str) -> dict[int, BucketSum]:
        sums: dict[int, BucketSum] = {}
        for name, one in self.entries.items():
            if isinstance(one, Entry) and one.source == source:
                before = sums.get(bucket_of(name), BucketSum())
                sums[bucket_of(name)] = BucketSum(
                    count=before.count + 1,
                    check=before.check + check_of(name, one.content_hash),
                    versions=before.versions + version_bits(one.version),
                    without_vectors=before.without_vectors + (not one.chunks),
                )
        return sums

    def _remove(self, name: EntryId, version: int) -> bool:
        held = self.entries.get(name)
        if held is None:
            return True
        if isinstance(held, Entry) or held.version > version:
            return False
        self.delete(name, version + 1)
        return True

    def _write(self, entry: Entry | Tombstone) -> WriteResult:
        chunks = entry.chunks if isinstance(entry, Entry) else ()
        if not all(self._takes(chunk.vector) for chunk in chunks):
            return Failure(
                FailureKind.INDEX_REJECTED, "OpenSearch answered 400 mapper_parsing_exception"
            )
        held = self.entries.get(entry.entry_id)
        version = held.version if held else self._removed.get(entry.entry_id, -1)
        if version >= entry.version:
            return Written.CONFLICT
        self.entries[entry.entry_id] = entry
        return Written.WRITTEN

    def _takes(self, vector: Vector) -> bool:
        # The cosine of a zero vector is not defined.
        return vector.shape == (self._dimensions,) and bool(vector.any())


class MemorySearch:
    """Indexes by their names; the one behind a read alias may be changed."""

    def __init__(self, indexes: Mapping[str, MemoryIndex], served: dict[str, ServedIndex]) -> None:
        self._indexes = indexes
        self.served = served

    def behind(self, alias: str) -> ServedIndex:
        return self.served[alias]

    def ask(self, index: str, question: Question) -> list[Hit]:
        return self._indexes[index].ask(question)


class MemoryIndexAdmin:
    """Tells the UUIDs of indexes by their aliases."""

    def __init__(self, indexes: Mapping[str, MemoryIndex]) -> None:
        self._indexes = indexes

    def uuid(self, alias: str) -> str | None:
        return self._indexes[alias].uuid


def _stored(entry: Entry | Tombstone, hashes: Collection[str] = ()) -> StoredEntry:
    if isinstance(entry, Tombstone):
        return StoredEntry(
            entry.version,
            True,
            entry.content_hash,
            reason=entry.reason,
            document_id=entry.document_id,
            written_ms=entry.deleted_ms,
        )
    return StoredEntry(
        version=entry.version,
        deleted=False,
        content_hash=entry.content_hash,
        vectors={one.hash: one.vector for one in entry.chunks if one.hash in hashes},
        chunks=len(entry.chunks),
        chunks_failed=entry.chunks_failed,
        document_id=entry.document_id,
        model=entry.model,
        written_ms=entry.written_ms,
    )


LIMITS = ProviderLimits(
    inputs_per_request=2048, tokens_per_request=300_000, tokens_per_input=8192, bytes_per_token=4
)


class HashedEmbedder:
    """Texts that share words are near each other."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._vectors = HashedVectors()
        self.requests: list[list[str]] = []
        self.limits = LIMITS

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:  # noqa: ARG002
        self.requests.append(list(texts))
        vectors = self._vectors.embed(texts, self._dimensions)
        return Embedded(list(vectors), sum(len(text.split()) for text in texts))
