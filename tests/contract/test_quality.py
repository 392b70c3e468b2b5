"""How good search is on the fables of the demo, with a real model and OpenSearch's own BM25."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from functions.core.entry import Chunk, Vector
from functions.core.search import Mode, Question
from functions.core.search_shape import VECTORS, chunk_count, drawn_body, exact_body, middle_vector
from local.provider.minilm import WIDTH, MiniLmVectors
from ops.demo.corpus import JUDGMENTS, fables
from ops.quality import DEPTH, quality
from ops.quality_files import read_json_lines
from tests.contract.index_engines import IndexEngine, entry, index_engine, opensearch

pytestmark = [pytest.mark.engines, pytest.mark.timeout(600)]

JUDGED = read_json_lines(JUDGMENTS)
TEXTS = {fable["id"]: f"{fable['title']}\n\n{fable['body']}" for fable in fables()}


@pytest.fixture(scope="module")
def vectors() -> Mapping[str, Vector]:
    """Return the vector of every fable and every question, by its text."""
    texts = [*TEXTS.values(), *(one.query for one in JUDGED)]
    return dict(zip(texts, MiniLmVectors().embed(texts, WIDTH), strict=True))


@pytest.fixture
def engine(request: pytest.FixtureRequest, vectors: Mapping[str, Vector]) -> Iterator[IndexEngine]:
    """Return an index with the fables."""
    with index_engine(request, "opensearch", dimensions=WIDTH) as made:
        entries = [
            replace(entry(name), chunks=(Chunk(text, "hash", vectors[text]),))
            for name, text in TEXTS.items()
        ]
        made.index.write(entries, searchable_now=True)
        yield made


def test_corpus_brings_questions_about_every_fable() -> None:
    """R52: more than a handful, and about nothing else."""
    asked = {name for one in JUDGED for name in one.relevant}

    assert asked == set(TEXTS)
    assert len(JUDGED) >= 3 * len(TEXTS)


def test_hybrid_is_as_good_as_the_better_of_its_halves(
    engine: IndexEngine, vectors: Mapping[str, Vector]
) -> None:
    """R48 R52: within 0.01 of nDCG@10, on the judgments of the demo."""

    def ndcg(mode: Mode) -> float:
        run = {
            one.id: [
                hit.document_id
                for hit in engine.ask(
                    Question(mode, words=one.query, vector=vectors[one.query], most=DEPTH)
                )
            ]
            for one in JUDGED
        }
        return quality(JUDGED, run).ndcg_at_10.mean

    found: dict[Mode, float] = {"knn": ndcg("knn"), "text": ndcg("text"), "hybrid": ndcg("hybrid")}

    assert found["hybrid"] >= max(found["knn"], found["text"]) - 0.01, found
    # The judgments tell the halves apart, and neither is hopeless.
    assert 0.5 < found["text"] < found["knn"] < 1, found


def test_exact_search_finds_the_nearest_by_looking_at_all(
    request: pytest.FixtureRequest, engine: IndexEngine, vectors: Mapping[str, Vector]
) -> None:
    """R52: in the order of their cosines; with a vector of the index that chance selects."""
    http = opensearch(request)

    def search(body: object) -> list[dict[str, Any]]:
        found = http.call("POST", f"{engine.name}/_search", body)
        return list(found["hits"]["hits"])

    drawn = search(drawn_body(Question("knn", sources=("articles",), most=3), seed=7))
    others = search(drawn_body(Question("knn", most=3), seed=8))
    fields = {"_source_includes": VECTORS}
    ids = {"ids": [drawn[0]["_id"]]}
    [read] = http.call("POST", f"{engine.name}/_mget", ids, query=fields)["docs"]
    vector = np.asarray(middle_vector(read), np.float32)
    exact = search(exact_body(Question("knn", vector=vector, most=5)))
    nothing = search(exact_body(Question("knn", vector=vector, sources=("notes",), most=5)))

    cosines = {name: float(vectors[text] @ vector) for name, text in TEXTS.items()}
    nearest = sorted(cosines, key=lambda name: -cosines[name])[:5]
    assert [one["_source"] for one in exact] == [{"document_id": name} for name in nearest]
    assert exact[0]["_source"] == drawn[0]["_source"]
    assert [chunk_count(one) for one in drawn] == [1, 1, 1]
    assert [one["_source"] for one in drawn] != [one["_source"] for one in others]
    assert nothing == []
