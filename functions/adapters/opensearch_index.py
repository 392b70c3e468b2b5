"""The k-NN index: entries written in bulk under external versions and read back."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson

from functions.adapters.opensearch_http import NO_INDEX
from functions.adapters.opensearch_removal import OpenSearchRemoval
from functions.core.batches import batches_by_size
from functions.core.entry import Entry, StoredEntry, Tombstone, Vector, WriteResult, Written
from functions.core.entry_shape import (
    HELD_FIELDS,
    VECTOR_FIELDS,
    body,
    chunk_hashes,
    stored,
    vectors,
)
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import EntryId

# OpenSearch Service takes 10 MiB on small instances.
MAX_BODY_BYTES = 8_000_000
# An answer with vectors is large: 300 chunks of 1,536 dimensions are 5 MB.
MAX_READ_CHUNKS = 300


class OpenSearchIndex(OpenSearchRemoval):
    """One index behind its alias."""

    def read(
        self, ids: Sequence[EntryId], *, hashes: Collection[str] = ()
    ) -> dict[EntryId, StoredEntry]:
        docs = self._docs(ids, HELD_FIELDS) if ids else {}
        found = {name: stored(doc) for name, doc in docs.items()}
        # Most documents of a load are new, and most entries share no chunk with their new text.
        sharing = [name for name, doc in docs.items() if not chunk_hashes(doc).isdisjoint(hashes)]
        size = {name: found[name].chunks for name in sharing}
        for part in batches_by_size(sharing, size.__getitem__, max_size=MAX_READ_CHUNKS):
            for name, doc in self._docs(part, VECTOR_FIELDS).items():
                found[name] = replace(found[name], vectors=vectors(doc, hashes, _vector))
        return found

    def _docs(self, ids: Sequence[EntryId], fields: str) -> dict[EntryId, Mapping[str, Any]]:
        wanted = {"_source_includes": fields}
        docs = self._each("_mget", {"ids": list(ids)}, query=wanted, number=len(ids))
        self._refuse_errors(docs)
        return {EntryId(doc["_id"]): doc for doc in docs if doc.get("found")}

    def write(
        self, entries: Sequence[Entry | Tombstone], *, searchable_now: bool
    ) -> dict[EntryId, WriteResult]:
        results: dict[EntryId, WriteResult] = {}
        query = {"refresh": "wait_for"} if searchable_now else {}
        lines = ((entry.entry_id, _lines(entry)) for entry in entries)
        for part in batches_by_size(lines, lambda one: len(one[1]), max_size=MAX_BODY_BYTES):
            try:
                data = b"".join(line for _, line in part)
                items = self._each("_bulk", data, query=query, number=len(part))
            except FailureError as error:
                results.update({name: error.failure for name, _ in part})
                continue
            for item in items:
                results[EntryId(item["index"]["_id"])] = self._result(item["index"])
        return results

    def _result(self, item: Mapping[str, Any]) -> WriteResult:
        kind = (item.get("error") or {}).get("type")
        return self._missing if kind == NO_INDEX else _result(item["status"], kind)


def _lines(entry: Entry | Tombstone) -> bytes:
    """Write the two lines of an entry in a bulk body."""
    action = {
        "_id": entry.entry_id,
        "version": entry.version,
        # Never external_gte: a slow copy would overwrite the same version with older text.
        "version_type": "external",
        # Only through the alias: a typing error or a lost index must not make one without the
        # k-NN mapping.
        "require_alias": True,
    }
    content = orjson.dumps(body(entry), option=orjson.OPT_SERIALIZE_NUMPY)
    return orjson.dumps({"index": action}) + b"\n" + content + b"\n"


def _vector(numbers: list[float]) -> Vector:
    return np.asarray(numbers, dtype=np.float32)


def _result(status: int, kind: object) -> WriteResult:
    if status in (200, 201):
        return Written.WRITTEN
    if status == 409:
        return Written.CONFLICT
    message = f"OpenSearch answered {status} {kind}"
    if status == 429:
        return Failure(FailureKind.INDEX_BUSY, message)
    if status == 400:
        # The reason may quote the document: only its type is kept.
        return Failure(FailureKind.INDEX_REJECTED, message)
    return Failure(FailureKind.INDEX_UNAVAILABLE, message)
