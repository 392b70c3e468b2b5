"""One index as a whole, without its vectors: for comparing it with a table."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from functions.adapters.opensearch_http import (
    WHOLE,
    IndexCalls,
    OpenSearchError,
    listed,
    refusal,
    segment,
    unavailable,
)
from functions.core.entry import StoredEntry
from functions.core.entry_shape import (
    SUMMARY_FIELDS,
    BucketSum,
    bucket_sum,
    bucket_sums,
    page,
    stored,
    without_vectors,
)
from functions.core.identity import EntryId


class FailingCalls:
    """Calls for steps, which know failures only: what OpenSearch refuses is one, too."""

    def __init__(self, calls: IndexCalls) -> None:
        self._calls = calls

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        try:
            return self._calls.call(method, path, body, query=query)
        except OpenSearchError as error:
            raise refusal(error) from error


class OpenSearchReader:
    """Asks what only reads, directly or through the function query."""

    def __init__(self, calls: IndexCalls, alias: str) -> None:
        self._calls = calls
        self._alias = alias

    def summaries(self, ids: Sequence[EntryId]) -> dict[EntryId, StoredEntry]:
        if not ids:
            return {}
        wanted = {"_source_includes": SUMMARY_FIELDS}
        docs = listed(self._call("_mget", {"ids": list(ids)}, wanted), "_mget", len(ids))
        for doc in docs:
            # 200 with an error in each: taken for absent, all would be called missing.
            if "error" in doc:
                raise unavailable(f"reading answered {doc['error'].get('type')}")
        return {EntryId(doc["_id"]): stored(doc) for doc in docs if doc.get("found")}

    def without_vectors(self, ids: Sequence[EntryId]) -> set[EntryId]:
        if not ids:
            return set()
        answer = self._call("_search", without_vectors(ids), WHOLE)
        return {EntryId(found["_id"]) for found in answer["hits"]["hits"]}

    def page(
        self,
        source: str,
        *,
        after: str | None,
        most: int,
        buckets: Collection[int] | None = None,
    ) -> list[StoredEntry]:
        query = page(source, size=most, after=after, buckets=buckets)
        return [stored(found) for found in self._call("_search", query, WHOLE)["hits"]["hits"]]

    def sums(self, source: str) -> dict[int, BucketSum]:
        answer = self._call("_search", bucket_sums(source), WHOLE)
        return dict(map(bucket_sum, answer["aggregations"]["buckets"]["buckets"]))

    def refresh(self) -> None:
        self._call("_refresh", None)

    def _call(self, action: str, body: object, query: Mapping[str, str] | None = None) -> Any:
        return self._calls.call("POST", f"{segment(self._alias)}/{action}", body, query=query)
