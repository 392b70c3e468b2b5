"""The k-NN index on each engine: the port, and searching it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
import pytest

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_index import OpenSearchIndex
from functions.adapters.opensearch_search import OpenSearchSearch
from functions.core.entry import Chunk, Entry, Hit, Tombstone, Vector, Written
from functions.core.filters import conditions
from functions.core.identity import DocumentId
from functions.core.ports import EntryRemoval, VectorIndex
from functions.core.search import Question
from functions.core.settings import MetadataType, VectorCompression
from functions.index_setup.ensure import IndexSpec, ensure_index
from local.aws_client import REGION
from local.memory.index import MemoryIndex
from tests.builders import NOW_MS
from tests.contract.engines import engine_url
from tests.waiting import until

DIMENSIONS = 4
METADATA: dict[str, MetadataType] = {
    "language": "keyword",
    "year": "long",
    "rating": "double",
    "public": "boolean",
    "published": "date",
    "summary": "text",
}


class WholeIndex(VectorIndex, EntryRemoval, Protocol):
    """An index with all that embed and the sweep ask of it."""


@dataclass(frozen=True)
class IndexEngine:
    """An index, how to search it, and how to let it forget what it may forget."""

    index: WholeIndex
    ask: Callable[[Question], list[Hit]]
    forget: Callable[[], None]
    name: str = ""

    def search(self, vector: Vector, *, most: int = 10, only: Sequence[str] = ()) -> list[Hit]:
        """Return the nearest documents of those that meet the conditions."""
        tests = conditions(only, (), METADATA)
        return self.ask(Question("knn", vector=vector, conditions=tests, most=most))


@contextmanager
def index_engine(
    request: pytest.FixtureRequest,
    engine: str,
    compression: VectorCompression = "none",
    dimensions: int = DIMENSIONS,
) -> Iterator[IndexEngine]:
    """Make an empty index with a few metadata fields."""
    if engine == "memory":
        memory = MemoryIndex(dimensions)
        yield IndexEngine(memory, memory.ask, memory.forget)
        return
    http = opensearch(request)
    alias = f"contract-{uuid4()}"
    spec = IndexSpec(
        alias=alias,
        model="text-embedding-3-small",
        dimensions=dimensions,
        metadata=METADATA,
        compression=compression,
    )
    ensure_index(spec, OpenSearchAdmin(http))
    # Sooner than each second, so that tests wait less; still only a refresh shows a write.
    http.call("PUT", f"{alias}/_settings", {"index.refresh_interval": "50ms"})
    yield IndexEngine(
        OpenSearchIndex(http, alias),
        partial(OpenSearchSearch(http).ask, spec.index),
        partial(_forget, http, alias),
        alias,
    )
    http.call("DELETE", spec.index)


def opensearch(request: pytest.FixtureRequest) -> OpenSearchHttp:
    """Talk to the session's node."""
    return OpenSearchHttp(engine_url(request, "opensearch_url"), credentials=None, region=REGION)


def _forget(http: OpenSearchHttp, alias: str) -> None:
    """Let OpenSearch forget the versions of deleted documents, and merge them away."""
    http.call("PUT", f"{alias}/_settings", {"index.gc_deletes": "0ms"})
    # It forgets by a clock that it reads five times a second, this delete as the last one.
    index, last = OpenSearchIndex(http, alias), tombstone("the last delete", version=1)
    index.write([last], searchable_now=False)
    index.remove({last.entry_id: last.version})

    def is_forgotten() -> bool:
        http.call("POST", f"{alias}/_refresh")
        return index.write([last], searchable_now=False) == {last.entry_id: Written.WRITTEN}

    until(is_forgotten, "deletes are forgotten")
    index.remove({last.entry_id: last.version})
    for action in ("_refresh", "_flush", "_forcemerge"):
        http.call("POST", f"{alias}/{action}")


def vector(*numbers: float) -> Vector:
    return np.array(numbers, dtype=np.float32)


def entry(name: str, *vectors: Vector, version: int = NOW_MS, **changes: Any) -> Entry:
    """Make an entry with one chunk per vector; their texts are t0, t1, ..."""
    chunks = [
        Chunk(f"t{number}", f"h{number}", one)
        for number, one in enumerate(vectors or (vector(1, 0, 0, 0),))
    ]
    values: Mapping[str, Any] = {
        "source": "articles",
        "document_id": DocumentId(name),
        "version": version,
        "content_hash": f"hash of {name}",
        "type": "article",
        "metadata": {},
        "chunks": tuple(chunks),
        "written_ms": NOW_MS,
        "model": "text-embedding-3-small",
    }
    return Entry(**{**values, **changes})


def tombstone(name: str, *, version: int = NOW_MS, reason: str | None = None) -> Tombstone:
    return Tombstone("articles", DocumentId(name), version, "hash of a tombstone", reason, NOW_MS)
