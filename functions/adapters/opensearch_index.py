"""The k-NN index: entries written in bulk under external versions, read back, and searched."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from functions.adapters.opensearch_http import IndexCalls, segment
from functions.adapters.opensearch_removal import NO_INDEX, OpenSearchRemoval
from functions.core.entry import Entry, Hit, StoredEntry, Tombstone, WriteResult, Written
from functions.core.entry_shape import REUSE_FIELDS, body, hit, nearest, stored
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import EntryId

if TYPE_CHECKING:
    from functions.core.entry import Vector

# OpenSearch Service takes 10 MiB on small instances.
MAX_BODY_BYTES = 8_000_000
# An answer with vectors is large: 300 chunks of 1,536 dimensions are 5 MB.
MAX_READ_ENTRIES = 5


class OpenSearchIndex(OpenSearchRemoval):
    """One index behind its alias."""

    def read(self, ids: Sequence[EntryId]) -> dict[EntryId, StoredEntry]:
        found: dict[EntryId, StoredEntry] = {}
        for start in range(0, len(ids), MAX_READ_ENTRIES):
            answer = self._call(
                "POST",
                "_mget",
                {"ids": list(ids[start : start + MAX_READ_ENTRIES])},
                query={"_source_includes": REUSE_FIELDS},
            )
            self._refuse_errors(answer["docs"])
            for doc in answer["docs"]:
                if doc.get("found"):
                    found[EntryId(doc["_id"])] = stored(doc, _vector)
        return found

    def write(
        self, entries: Sequence[Entry | Tombstone], *, searchable_now: bool
    ) -> dict[EntryId, WriteResult]:
        results: dict[EntryId, WriteResult] = {}
        query = {"refresh": "wait_for"} if searchable_now else {}
        for ids, lines in _bodies(entries):
            try:
                answer = self._call("POST", "_bulk", lines, query=query)
            except FailureError as error:
                results.update(dict.fromkeys(ids, error.failure))
                continue
            for item in answer["items"]:
                results[EntryId(item["index"]["_id"])] = self._result(item["index"])
        return results

    def _result(self, item: Mapping[str, Any]) -> WriteResult:
        kind = (item.get("error") or {}).get("type")
        return self._missing if kind == NO_INDEX else _result(item["status"], kind)


def search(
    http: IndexCalls,
    alias: str,
    vector: "Vector",
    *,
    most: int = 10,
    metadata: Mapping[str, Any] | None = None,
) -> list[Hit]:
    """Return the nearest documents, best first."""
    query = nearest(vector, most=most, metadata=metadata or {})
    answer = http.call("POST", f"{segment(alias)}/_search", query)
    return [hit(found) for found in answer["hits"]["hits"]]


def _bodies(
    entries: Sequence[Entry | Tombstone],
) -> Iterator[tuple[list[EntryId], bytes]]:
    """Pack bulk bodies by their bytes."""
    ids: list[EntryId] = []
    lines: list[bytes] = []
    size = 0
    for entry in entries:
        pair = _action(entry) + b"\n" + _body(entry) + b"\n"
        if lines and size + len(pair) > MAX_BODY_BYTES:
            yield ids, b"".join(lines)
            ids, lines, size = [], [], 0
        ids.append(entry.entry_id)
        lines.append(pair)
        size += len(pair)
    if lines:
        yield ids, b"".join(lines)


def _action(entry: Entry | Tombstone) -> bytes:
    # Never external_gte: a slow copy would overwrite the same version with older text.
    return orjson.dumps(
        {
            "index": {
                "_id": entry.entry_id,
                "version": entry.version,
                "version_type": "external",
                # Only through the alias: a typing error or a lost index must not make one
                # without the k-NN mapping.
                "require_alias": True,
            }
        }
    )


def _body(entry: Entry | Tombstone) -> bytes:
    return orjson.dumps(body(entry), option=orjson.OPT_SERIALIZE_NUMPY)


def _vector(numbers: list[float]) -> "Vector":
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
