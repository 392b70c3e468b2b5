"""Semantic search: k-NN over the chunks, metadata filters, tombstones left out."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from functions.adapters.opensearch_http import OpenSearchHttp, segment
from functions.core.entry import Hit
from functions.core.entry_shape import hit, nearest

if TYPE_CHECKING:
    from functions.core.entry import Vector


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
