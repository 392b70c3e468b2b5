"""The k-NN index: entries written in bulk under external versions, read back, and searched."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp, segment, unavailable
from functions.core.entry import Entry, Hit, StoredEntry, Tombstone, WriteResult, Written
from functions.core.entry_shape import REUSE_FIELDS, SUMMARY_FIELDS, body, hit, nearest, stored
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import EntryId

if TYPE_CHECKING:
    from functions.core.entry import Vector

# OpenSearch Service takes 10 MiB on small instances.
MAX_BODY_BYTES = 8_000_000
# An answer with vectors is large: 300 chunks of 1,536 dimensions are 5 MB.
MAX_READ_ENTRIES = 5
# A whole request refused: for its size, for missing rights, or for a missing index.
REFUSED_AS = {
    401: FailureKind.CONFIGURATION,
    403: FailureKind.CONFIGURATION,
    404: FailureKind.CONFIGURATION,
    413: FailureKind.RESOURCE,
}


class OpenSearchIndex:
    """One index behind its alias."""

    def __init__(self, http: OpenSearchHttp, alias: str) -> None:
        self._http = http
        self._alias = alias

    def read(self, ids: Sequence[EntryId]) -> dict[EntryId, StoredEntry]:
        found: dict[EntryId, StoredEntry] = {}
        for start in range(0, len(ids), MAX_READ_ENTRIES):
            answer = self._call(
                "POST",
                "_mget",
                {"ids": list(ids[start : start + MAX_READ_ENTRIES])},
                query={"_source_includes": REUSE_FIELDS},
            )
            _refuse_errors(answer["docs"])
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
                results[EntryId(item["index"]["_id"])] = _result(item["index"])
        return results

    def remove(self, tombstones: Mapping[EntryId, int]) -> list[EntryId]:
        if not tombstones:
            return []
        held = self._held(list(tombstones))
        gone = [name for name in tombstones if name not in held]
        old = [name for name, version in held.items() if version <= tombstones[name]]
        if not old:
            return gone
        lines = b"".join(_deletion(name, tombstones[name] + 1) for name in old)
        answer = self._call("POST", "_bulk", lines, query={})
        # 404: another run was faster. 409: another run has written or deleted it just now.
        return gone + [
            EntryId(item["delete"]["_id"])
            for item in answer["items"]
            if item["delete"]["status"] in (200, 404)
        ]

    def _held(self, ids: Sequence[EntryId]) -> dict[EntryId, float]:
        """Return the versions that the index holds; live entries count as infinitely new.

        Asked first also because a delete with an external version creates an index that is
        missing: require_alias does not hold for deletes.
        """
        answer = self._call("POST", "_mget", {"ids": list(ids)}, query={"_source": SUMMARY_FIELDS})
        _refuse_errors(answer["docs"])
        held = {EntryId(d["_id"]): stored(d) for d in answer["docs"] if d.get("found")}
        return {name: one.version if one.deleted else math.inf for name, one in held.items()}

    def _call(self, method: str, action: str, body: object, *, query: Mapping[str, str]) -> Any:
        try:
            return self._http.call(method, f"{segment(self._alias)}/{action}", body, query=query)
        except OpenSearchError as error:
            # The document is not the cause of a missing index, missing rights or a refused body.
            kind = REFUSED_AS.get(error.status, FailureKind.INDEX_UNAVAILABLE)
            # The reason of a refused body may quote the document: only its type is kept.
            reason = f"OpenSearch answered 400 {error.kind}" if error.status == 400 else str(error)
            raise FailureError(Failure(kind, reason)) from error


def search(
    http: OpenSearchHttp,
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


def _refuse_errors(docs: Sequence[Mapping[str, Any]]) -> None:
    # 200 with an error in each: taken for absent, all would be paid again.
    for doc in docs:
        if "error" in doc:
            raise unavailable(f"reading answered {doc['error'].get('type')}")


def _deletion(name: EntryId, version: int) -> bytes:
    action = {"_id": name, "version": version, "version_type": "external"}
    return orjson.dumps({"delete": action}) + b"\n"


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


def _result(item: Mapping[str, Any]) -> WriteResult:
    status = item["status"]
    if status in (200, 201):
        return Written.WRITTEN
    if status == 409:
        return Written.CONFLICT
    error = item.get("error") or {}
    message = f"OpenSearch answered {status} {error.get('type')}"
    if status == 429:
        return Failure(FailureKind.INDEX_BUSY, message)
    if status == 400:
        # The reason may quote the document: only its type is kept.
        return Failure(FailureKind.INDEX_REJECTED, message)
    return Failure(FailureKind.INDEX_UNAVAILABLE, message)
