"""Entries taken out of the k-NN index for good. Apart from the index: sweep needs no numpy."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from functions.adapters.opensearch_http import (
    NO_INDEX,
    OpenSearchError,
    OpenSearchHttp,
    listed,
    refusal,
    segment,
    unavailable,
)
from functions.core.entry_shape import SUMMARY_FIELDS, stored
from functions.core.failure import Failure, FailureKind, MissingIndexError
from functions.core.identity import EntryId


class OpenSearchRemoval:
    """One index behind its alias, by what purging tombstones needs of it."""

    def __init__(self, http: OpenSearchHttp, alias: str) -> None:
        self._http = http
        self._alias = alias

    def remove(self, tombstones: Mapping[EntryId, int]) -> list[EntryId]:
        if not tombstones:
            return []
        held = self._held(list(tombstones))
        gone = [name for name in tombstones if name not in held]
        old = [name for name, version in held.items() if version <= tombstones[name]]
        if not old:
            return gone
        lines = b"".join(_deletion(name, tombstones[name] + 1) for name in old)
        items = self._each("_bulk", lines, query={}, number=len(old))
        # 404: another run was faster. 409: another run has written or deleted it just now.
        return gone + [
            EntryId(item["delete"]["_id"])
            for item in items
            if item["delete"]["status"] in (200, 404)
        ]

    def _held(self, ids: Sequence[EntryId]) -> dict[EntryId, float]:
        """Return the versions that the index holds; live entries count as infinitely new.

        Asked first also because a delete with an external version creates an index that is
        missing: require_alias does not hold for deletes.
        """
        query = {"_source": SUMMARY_FIELDS}
        docs = self._each("_mget", {"ids": list(ids)}, query=query, number=len(ids))
        self._refuse_errors(docs)
        held = {EntryId(doc["_id"]): stored(doc) for doc in docs if doc.get("found")}
        return {name: one.version if one.deleted else math.inf for name, one in held.items()}

    def _refuse_errors(self, docs: Sequence[Mapping[str, Any]]) -> None:
        # 200 with an error in each: taken for absent, all would be paid again.
        for doc in docs:
            if "error" in doc:
                kind = doc["error"].get("type")
                if kind == NO_INDEX:
                    raise MissingIndexError(self._missing)
                raise unavailable(f"reading answered {kind}")

    @property
    def _missing(self) -> Failure:
        """Return the failure of every document: the index was lost, or was never made."""
        message = f"OpenSearch has no index behind {self._alias}"
        return Failure(FailureKind.CONFIGURATION, message)

    def _each(
        self, action: str, body: object, *, query: Mapping[str, str], number: int
    ) -> list[Any]:
        return listed(self._call("POST", action, body, query=query), action, number)

    def _call(self, method: str, action: str, body: object, *, query: Mapping[str, str]) -> Any:
        try:
            return self._http.call(method, f"{segment(self._alias)}/{action}", body, query=query)
        except OpenSearchError as error:
            raise refusal(error) from error


def _deletion(name: EntryId, version: int) -> bytes:
    action = {"_id": name, "version": version, "version_type": "external"}
    return orjson.dumps({"delete": action}) + b"\n"
