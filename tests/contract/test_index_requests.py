"""How often embed asks a real OpenSearch, counted where the requests leave."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_index import MAX_READ_CHUNKS, OpenSearchIndex
from functions.core.lane import Lane
from local.aws_client import REGION
from local.memory.index import HashedEmbedder, MemoryIndex
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.contract.engines import engine_url, real
from tests.contract.index_engines import entry, index_engine, vector

DOCUMENTS = 90
DIMENSIONS = 16


class Counting(OpenSearchHttp):
    """Remembers what was asked, and for which fields."""

    def __init__(self, url: str) -> None:
        super().__init__(url, credentials=None, region=REGION)
        self.asked: list[tuple[str, str]] = []

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        fields = (query or {}).get("_source_includes", "")
        self.asked.append((path.rsplit("/", 1)[1], "vectors" if "vector" in fields else ""))
        return super().call(method, path, body, query=query)


@pytest.fixture(params=[real("opensearch")])
def counted(request: pytest.FixtureRequest) -> Iterator[tuple[OpenSearchIndex, Counting]]:
    """Give an empty index, and the requests to it."""
    http = Counting(engine_url(request, "opensearch_url"))
    with index_engine(request, request.param, dimensions=DIMENSIONS) as engine:
        yield OpenSearchIndex(http, engine.name), http


def run(pipeline: MemoryPipeline, http: Counting) -> list[tuple[str, str]]:
    """Work everything in one batch; return what was asked of the index."""
    http.asked.clear()
    pipeline.deliver_new()
    pipeline.clock.advance(1)
    pipeline.run(f"default/{Lane.BULK}", DOCUMENTS)
    return list(http.asked)


def write(pipeline: MemoryPipeline, number: int, body: str, **attributes: Any) -> None:
    item = {"id": f"{number}", "body": body, "priority": "low", **attributes}
    pipeline.tables["articles"].put(item)


def test_round_asks_once_for_new_documents_and_never_for_their_vectors(
    counted: tuple[OpenSearchIndex, Counting],
) -> None:
    """R06: one question for all; vectors come only from entries that share chunks."""
    index, http = counted
    pipeline = make_pipeline(
        source={"priority_attribute": "priority", "metadata": {"language": "keyword"}},
        around=lambda adapter, names: (
            index if isinstance(adapter, MemoryIndex) and "write" in names else adapter
        ),
    )
    for number in range(DOCUMENTS):
        write(pipeline, number, f"text {number}")

    assert run(pipeline, http) == [("_mget", ""), ("_bulk", "")]

    # Other texts: the entries exist, and share nothing.
    for number in range(DOCUMENTS):
        write(pipeline, number, f"other text {number}")
    assert run(pipeline, http) == [("_mget", ""), ("_bulk", "")]

    # The same texts with other metadata: nothing is paid.
    embedder = pipeline.embedders["default"]
    assert isinstance(embedder, HashedEmbedder)
    paid = len(embedder.requests)
    for number in range(DOCUMENTS):
        write(pipeline, number, f"other text {number}", language="de")
    assert run(pipeline, http) == [("_mget", ""), ("_mget", "vectors"), ("_bulk", "")]
    assert len(embedder.requests) == paid


def test_vectors_are_read_in_answers_of_bounded_size(
    counted: tuple[OpenSearchIndex, Counting],
) -> None:
    """R06: by the chunks that entries have, and only those that are wanted."""
    index, http = counted
    half = [vector(*[1.0] * DIMENSIONS)] * (MAX_READ_CHUNKS // 2)
    entries = [entry(name, *half) for name in "abc"]
    index.write(entries, searchable_now=False)
    http.asked.clear()

    found = index.read([one.entry_id for one in entries], hashes={"h1", "of another text"})

    assert [set(one.vectors) for one in found.values()] == [{"h1"}] * 3
    assert [one.chunks for one in found.values()] == [len(half)] * 3
    assert http.asked == [("_mget", ""), ("_mget", "vectors"), ("_mget", "vectors")]
