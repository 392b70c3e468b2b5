"""The shape of an entry in OpenSearch: what is mapped, written, read back and listed. Pure.

Every field name of the index stands in this module, and in search_shape for those of a search.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from functions.core.entry import Entry, StoredEntry, Tombstone, Vector
from functions.core.identity import BUCKETS, EntryId, bucket_of, check_of, version_bits
from functions.core.settings import MetadataType, VectorCompression

# A longer term than 32,766 bytes is refused: such a value is kept, but not filtered by.
KEYWORD_CHARACTERS = 8000
# Enough to compare an entry with its document.
SUMMARY_FIELDS = "document_id,deleted,content_hash,model,written_ms"
# What embed asks of an entry, and then of one that has chunks of the new text.
HELD_FIELDS = "deleted,content_hash,reason,chunks_failed,chunks.hash"
VECTOR_FIELDS = "chunks.hash,chunks.vector"

# Lucene's scalar quantization: a search reads so many bits of each number, whole vectors stay on
# disk. As an encoder, which every version since 2.16 understands. Without the interval, the largest
# numbers of 7 bits are cut off: recall@10 of 0.77 instead of 0.98 (2,000 vectors).
QUANTIZED: Mapping[VectorCompression, Mapping[str, float]] = {
    "4x": {"bits": 7, "confidence_interval": 1.0},
    "32x": {"bits": 1},
}
# The bucket of entries that were written before there were buckets.
NO_BUCKET = -1
WITHOUT_VECTORS: dict[str, Any] = {
    "bool": {
        "must_not": {"nested": {"path": "chunks", "query": {"exists": {"field": "chunks.vector"}}}}
    }
}

STORED_ONLY = {"type": "keyword", "index": False, "doc_values": False}


@dataclass(frozen=True)
class BucketSum:
    """What a bucket holds: entries, sums of their checks and versions, entries without vectors."""

    count: int = 0
    check: int = 0
    versions: int = 0
    without_vectors: int = 0


def properties(
    *,
    dimensions: int,
    metadata: Mapping[str, MetadataType],
    compression: VectorCompression = "none",
) -> dict[str, Any]:
    """Map every field; a field that is new here reaches an existing index at the next deploy."""
    return {
        "source": {"type": "keyword"},
        "document_id": {"type": "keyword"},
        "type": {"type": "keyword"},
        "deleted": {"type": "boolean"},
        "written_ms": {"type": "date", "format": "epoch_millis"},
        "chunks_failed": {"type": "integer"},
        "content_hash": {"type": "keyword", "index": False},
        "model": {"type": "keyword"},
        "bucket": {"type": "integer"},
        "check": {"type": "long", "index": False},
        "version_bits": {"type": "long", "index": False},
        "reason": STORED_ONLY,
        "metadata": {
            "dynamic": False,
            "properties": {name: _metadata(kind) for name, kind in metadata.items()},
        },
        "chunks": {
            "type": "nested",
            "properties": {
                "text": {"type": "text"},
                "hash": STORED_ONLY,
                "start": {"type": "integer", "index": False, "doc_values": False},
                "vector": {
                    "type": "knn_vector",
                    "dimension": dimensions,
                    "method": _method(compression),
                },
            },
        },
    }


def body(entry: Entry | Tombstone) -> dict[str, Any]:
    """Write an entry, or what a deleted document leaves behind."""
    common = {
        "source": entry.source,
        "document_id": entry.document_id,
        "content_hash": entry.content_hash,
        "bucket": bucket_of(entry.entry_id),
        "check": check_of(entry.entry_id, entry.content_hash),
        "version_bits": version_bits(entry.version),
    }
    if isinstance(entry, Tombstone):
        return common | {"deleted": True, "reason": entry.reason, "written_ms": entry.deleted_ms}
    return common | {
        "deleted": False,
        "type": entry.type,
        "metadata": entry.metadata,
        "written_ms": entry.written_ms,
        "model": entry.model,
        "chunks_failed": entry.chunks_failed,
        "chunks": [
            {
                "text": chunk.text,
                "start": chunk.start,
                "hash": chunk.hash,
                "vector": chunk.vector,
            }
            for chunk in entry.chunks
        ],
    }


def chunk_hashes(doc: Mapping[str, Any]) -> set[str]:
    """Name the chunks that an entry has."""
    return {chunk.get("hash") for chunk in doc["_source"].get("chunks") or []}


def vectors(
    doc: Mapping[str, Any], hashes: Collection[str], to_vector: Callable[[list[float]], Vector]
) -> dict[str, Vector]:
    """Read the vectors of some chunks; one that was damaged has none."""
    chunks = doc["_source"].get("chunks") or []
    kept = [chunk for chunk in chunks if chunk.get("hash") in hashes and chunk.get("vector")]
    return {chunk["hash"]: to_vector(chunk["vector"]) for chunk in kept}


def stored(doc: Mapping[str, Any]) -> StoredEntry:
    """Read an entry back without its vectors; what was not asked for is as if it were absent."""
    source = doc["_source"]
    chunks = source.get("chunks") or []
    return StoredEntry(
        version=doc["_version"],
        deleted=source.get("deleted", False),
        content_hash=source.get("content_hash"),
        reason=source.get("reason"),
        chunks=len(chunks),
        chunks_failed=source.get("chunks_failed", 0),
        document_id=source.get("document_id", ""),
        model=source.get("model", ""),
        written_ms=source.get("written_ms", 0),
    )


def live(source: str | None = None, since_ms: int | None = None) -> dict[str, Any]:
    """Select the entries that a search can find, of one source or of all."""
    terms: list[dict[str, Any]] = [{"term": {"deleted": False}}]
    if source is not None:
        terms.append({"term": {"source": source}})
    if since_ms is not None:
        terms.append(_written_since(since_ms))
    return {"bool": {"filter": terms}}


def tombstones(*, since_ms: int) -> dict[str, Any]:
    """Select what deleted documents have left since then."""
    return {"bool": {"filter": [{"term": {"deleted": True}}, _written_since(since_ms)]}}


def _written_since(at_ms: int) -> dict[str, Any]:
    return {"range": {"written_ms": {"gte": at_ms}}}


def page(
    source: str,
    *,
    size: int,
    after: str | None = None,
    buckets: Collection[int] | None = None,
) -> dict[str, Any]:
    """Ask for the next entries of a source in the order of their documents, as summaries.

    `buckets` limits them to some; NO_BUCKET are those of an index that is older than buckets.
    """
    wanted = live(source)
    if buckets is not None:
        either: list[dict[str, Any]] = [{"terms": {"bucket": sorted(buckets)}}]
        if NO_BUCKET in buckets:
            either.append({"bool": {"must_not": {"exists": {"field": "bucket"}}}})
        wanted["bool"]["filter"].append({"bool": {"should": either}})
    query = {
        "size": size,
        "version": True,
        "query": wanted,
        "_source": SUMMARY_FIELDS.split(","),
        "sort": ["document_id"],
    }
    return query if after is None else query | {"search_after": [after]}


def bucket_sums(source: str) -> dict[str, Any]:
    """Ask for number and sum of checks of a source's entries in each bucket."""
    return {
        "size": 0,
        "query": live(source),
        "aggs": {
            "buckets": {
                "terms": {"field": "bucket", "size": BUCKETS + 1, "missing": NO_BUCKET},
                "aggs": {
                    "check": {"sum": {"field": "check"}},
                    "versions": {"sum": {"field": "version_bits"}},
                    "without_vectors": {"filter": WITHOUT_VECTORS},
                },
            }
        },
    }


def bucket_sum(found: Mapping[str, Any]) -> tuple[int, BucketSum]:
    """Read one bucket of the answer to `bucket_sums`."""
    return int(found["key"]), BucketSum(
        count=found["doc_count"],
        check=int(found["check"]["value"]),
        versions=int(found["versions"]["value"]),
        without_vectors=found["without_vectors"]["doc_count"],
    )


def without_vectors(ids: Sequence[EntryId]) -> dict[str, Any]:
    """Ask which of these entries are live, but have no vector."""
    wanted = live()
    wanted["bool"]["filter"] += [{"ids": {"values": list(ids)}}, WITHOUT_VECTORS]
    return {"size": len(ids), "query": wanted, "_source": False}


def _method(compression: VectorCompression) -> dict[str, Any]:
    # lucene filters while it searches, and runs on one machine too.
    method: dict[str, Any] = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
    if compression == "none":
        return method
    encoder = {"name": "sq", "parameters": dict(QUANTIZED[compression])}
    return method | {"parameters": {"encoder": encoder}}


def _metadata(kind: MetadataType) -> dict[str, Any]:
    if kind == "keyword":
        return {"type": kind, "ignore_above": KEYWORD_CHARACTERS}
    if kind == "date":
        return {"type": kind, "format": "strict_date_optional_time||epoch_millis"}
    return {"type": kind}
