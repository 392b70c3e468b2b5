"""Search on each engine: by meaning, by words and by both; each document once, no deleted one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_reader import OpenSearchReader
from functions.adapters.opensearch_search import OpenSearchSearch
from functions.core.entry import Chunk, Entry, Hit, Tombstone
from functions.core.entry_shape import properties
from functions.core.failure import FailureError
from functions.core.filters import conditions
from functions.core.identity import DocumentId
from functions.core.search import Mode, Question
from functions.core.search_shape import MOST_FILTER_WORDS, filter_words
from functions.core.settings import VectorCompression
from tests.builders import NOW_MS
from tests.contract.engines import real
from tests.contract.index_engines import (
    METADATA,
    IndexEngine,
    entry,
    index_engine,
    opensearch,
    tombstone,
    vector,
)
from tests.waiting import until

if TYPE_CHECKING:
    from functions.core.entry import Vector

EAST = vector(1, 0, 0, 0)


@pytest.fixture(params=["memory", real("opensearch")])
def engine(request: pytest.FixtureRequest) -> Iterator[IndexEngine]:
    with index_engine(request, request.param) as engine:
        yield engine


def fill(engine: IndexEngine, *entries: Entry | Tombstone) -> None:
    engine.index.write(entries, searchable_now=True)


def names(hits: list[Hit]) -> list[str]:
    return [hit.document_id for hit in hits]


def test_nearest_documents_come_first(engine: IndexEngine) -> None:
    """R12 R48: at once after the write, with the score (1 + cosine) / 2."""
    fill(
        engine,
        entry("far", vector(-1, 0, 0, 0)),
        entry("near", vector(3, 0, 0, 0)),
        entry("middle", vector(0, 2, 0, 0)),
    )

    hits = engine.search(EAST)

    assert names(hits) == ["near", "middle", "far"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.5, 0.0], abs=1e-6)


def test_hit_shows_the_document_and_its_best_chunk(engine: IndexEngine) -> None:
    """R11: what a search result needs, and no vectors."""
    found = entry("a", vector(0, 1, 0, 0), EAST, metadata={"language": "de", "year": 2026})
    fill(engine, found)

    [hit] = engine.search(EAST)

    assert hit == Hit(
        source="articles",
        document_id=DocumentId("a"),
        type="article",
        score=hit.score,
        text="t1",
        metadata={"language": "de", "year": 2026},
    )
    assert hit.score == pytest.approx(1.0)


def test_document_with_many_chunks_comes_once_and_hides_no_other(engine: IndexEngine) -> None:
    """R11: 60 near chunks of one document leave room for the others."""
    many = [vector(1, number / 1000, 0, 0) for number in range(60)]
    others = [entry(f"other {number}", vector(1, 1 + number, 0, 0)) for number in range(4)]
    fill(engine, entry("long", *many), *others)

    hits = engine.search(EAST, most=5)

    assert names(hits) == ["long", "other 0", "other 1", "other 2", "other 3"]


FILTERS: list[tuple[list[str], list[str], list[str]]] = [
    (["language=de"], [], ["german", "both"]),
    (["language=de", "language=fr"], [], ["german", "french", "both"]),
    (["language=en", "public=true"], [], ["both"]),
    (["year=2026"], [], ["german"]),
    (["year>=2025", "year<2026"], [], ["french"]),
    (["year>2025"], [], ["german"]),
    (["year<=2025"], [], ["french"]),
    (["rating>0.5"], [], ["french"]),
    (["public=false"], [], ["english"]),
    (["published=2024-08-01"], [], ["french", "both"]),
    (["published>2024-08-01"], [], ["english"]),
    (["published>=2024-08-01T12:00:00Z"], [], ["english", "both"]),
    (["published<=2024-08-01"], [], ["german", "french", "both"]),
    (["published<2024-08-01"], [], ["german"]),
    (["summary=slow tortoise"], [], ["german"]),
    (["language=xx"], [], []),
    ([], ["language=de"], ["french", "english"]),
    (["language=de"], ["year=2026"], ["both"]),
    ([], ["published>=2024-01-01"], ["german"]),
    ([], [], ["german", "french", "english", "both"]),
]


def test_metadata_filters(engine: IndexEngine) -> None:
    """R48 R51: equal, ranges, either of two, and not; a list matches by any of its values."""
    fill(
        engine,
        entry(
            "german",
            vector(1, 0, 0, 0),
            metadata={
                "language": "de",
                "year": 2026,
                "published": "2023-05-01T00:00:00.000",
                "summary": "The tortoise is slow",
            },
        ),
        entry(
            "french",
            vector(1, 0.5, 0, 0),
            metadata={
                "language": "fr",
                "year": 2025,
                "rating": 0.75,
                "published": "2024-08-01T00:00:00.000",
            },
        ),
        entry(
            "english",
            vector(1, 1, 0, 0),
            metadata={
                "language": "en",
                "public": False,
                "published": 1_722_556_800_000,
                "summary": "A slow fox",
            },
        ),
        entry(
            "both",
            vector(1, 2, 0, 0),
            metadata={
                "language": ["de", "en"],
                "public": True,
                "published": "2024-08-01T23:59:59.999",
            },
        ),
    )

    found = []
    for wanted, unwanted, _ in FILTERS:
        tests = conditions(wanted, unwanted, METADATA)
        hits = engine.ask(Question("knn", vector=EAST, conditions=tests))
        found.append((wanted, unwanted, names(hits)))
    assert found == FILTERS


def test_ranges_of_whole_numbers_are_exact(engine: IndexEngine) -> None:
    """R51: beyond what a float can tell apart, up to the ends of the type."""
    large = 2**53
    fill(
        engine,
        entry("large", vector(1, 0, 0, 0), metadata={"year": large}),
        entry("larger", vector(1, 1, 0, 0), metadata={"year": large + 1}),
    )

    assert names(engine.search(EAST, only=[f"year>={large + 1}"])) == ["larger"]
    assert names(engine.search(EAST, only=[f"year<{large + 1}"])) == ["large"]
    both = [f"year>={-(2**63)}", f"year<={2**63 - 1}", f"year<{2**63 - 1}"]
    assert names(engine.search(EAST, only=both)) == ["large", "larger"]
    assert names(engine.search(EAST, only=[f"year>{2**63 - 1}"])) == []


def test_filter_finds_what_many_nearer_documents_hide(engine: IndexEngine) -> None:
    """R48: the filter works while searching, not on the first few hits."""
    near = [entry(f"near {number}", vector(1, number / 1000, 0, 0)) for number in range(50)]
    fill(engine, *near, entry("far", vector(-1, 0, 0, 0), metadata={"language": "de"}))

    assert names(engine.search(EAST, most=3, only=["language=de"])) == ["far"]


def texts(name: str, *chunks: tuple[str, "Vector"], **changes: Any) -> Entry:
    """Make an entry whose chunks have these texts, 100 characters apart."""
    made = entry(name, **changes)
    parts = [
        Chunk(text, f"h{number}", one, 100 * number) for number, (text, one) in enumerate(chunks)
    ]
    return replace(made, chunks=tuple(parts))


NORTH = vector(0, 1, 0, 0)


@pytest.fixture
def library(engine: IndexEngine) -> IndexEngine:
    """Fill in what each half of a hybrid question finds, and what both do."""
    fill(
        engine,
        texts("meaning", ("a quick animal", EAST)),
        texts("words", ("the hare runs", vector(-1, 0.1, 0, 0)), ("and sleeps", NORTH)),
        texts("both", ("once upon a time", NORTH), ("a hare", vector(1, 0.2, 0, 0))),
        texts("neither", ("a stone", vector(-1, 0, 0.1, 0)), source="messages"),
        tombstone("gone"),
    )
    return engine


def test_text_finds_words_alone(library: IndexEngine) -> None:
    """R48: the best chunk by its words, with its place; documents without them are not found."""
    hits = library.ask(Question("text", words="hare"))

    assert sorted(names(hits)) == ["both", "words"]
    both = next(hit for hit in hits if hit.document_id == "both")
    assert (both.text, both.start) == ("a hare", 100)


@pytest.mark.parametrize("mode", ["text", "hybrid"])
@pytest.mark.parametrize("more", ["word ", "\u9e1f", "\U0001f426"])
def test_question_of_many_words_is_answered_by_its_first_ones(
    library: IndexEngine, mode: Mode, more: str
) -> None:
    """R48: as long as a question may be."""
    words = f"hare {more * 8000}"[:8000]
    # And with as many filters as there may be.
    wordy = f"summary={' '.join(f'w{n}' for n in range(MOST_FILTER_WORDS))}"
    wanted, unwanted = ([f"year>={start + n}" for n in range(50)] for start in (1000, 3000))
    tests = conditions(wanted, [wordy, *unwanted[1:]], METADATA)
    assert filter_words(tests) == MOST_FILTER_WORDS

    hits = library.ask(Question(mode, words=words, vector=EAST))
    library.ask(Question(mode, words=words, vector=EAST, conditions=tests))

    assert {"both", "words"} <= set(names(hits))


def test_hybrid_puts_what_both_halves_find_first(library: IndexEngine) -> None:
    """R48 R51: with a passage for each, also for what only its words have found."""
    hits = library.ask(Question("hybrid", words="hare", vector=EAST))

    assert names(hits)[0] == "both"
    assert set(names(hits)) == {"both", "meaning", "words", "neither"}
    assert {hit.text for hit in hits} >= {"a hare", "a quick animal"}
    assert all(0 <= hit.score <= 1 for hit in hits)


@pytest.mark.parametrize(("weight", "first"), [(1.0, "meaning"), (0.0, "words")])
def test_weight_of_hybrid_goes_from_words_to_meaning(
    library: IndexEngine, weight: float, first: str
) -> None:
    """R51: per question."""
    hits = library.ask(Question("hybrid", words="hare runs", vector=EAST, weight=weight))

    assert names(hits)[0] == first


@pytest.mark.parametrize("mode", ["knn", "text", "hybrid"])
def test_conditions_and_sources_hold_in_every_mode(engine: IndexEngine, mode: Mode) -> None:
    """R51: in both halves of a hybrid question."""
    fill(
        engine,
        texts("a", ("a hare", EAST), metadata={"year": 2025}),
        texts("b", ("a hare", EAST), metadata={"year": 2026}),
        texts("c", ("a hare", EAST), metadata={"year": 2026}, source="messages"),
    )
    tests = conditions(["year=2026"], (), METADATA)
    question = Question(
        mode, words="hare", vector=EAST, conditions=tests, sources=("articles", "notes")
    )

    assert names(engine.ask(question)) == ["b"]
    assert sorted(names(engine.ask(replace(question, sources=())))) == ["b", "c"]


def test_tombstones_are_never_found(engine: IndexEngine) -> None:
    """R07 R15: a deleted document leaves the search with the write of its tombstone."""
    fill(engine, entry("a"), entry("b"), tombstone("never there"))
    assert sorted(names(engine.search(EAST))) == ["a", "b"]

    fill(engine, tombstone("a", version=NOW_MS + 1))

    assert names(engine.search(EAST)) == ["b"]


def test_replaced_chunks_are_found_no_more(engine: IndexEngine) -> None:
    """R11: an entry is replaced as a whole."""
    fill(engine, entry("a", EAST, vector(0, 1, 0, 0)))

    fill(engine, entry("a", vector(0, 0, 1, 0), version=NOW_MS + 1))

    [hit] = engine.search(EAST)
    assert hit.score == pytest.approx(0.5, abs=1e-6)


def test_no_more_than_asked(engine: IndexEngine) -> None:
    """R48: and as many as there are, when fewer."""
    fill(engine, *(entry(f"d{n:02}", vector(1, n, 0, 0)) for n in range(15)))

    assert names(engine.search(EAST, most=2)) == ["d00", "d01"]
    assert len(engine.search(EAST)) == 10
    assert len(engine.search(EAST, most=50)) == 15


def test_empty_index_finds_nothing(engine: IndexEngine) -> None:
    """R48: before the first document."""
    assert engine.search(EAST) == []


@pytest.mark.engines
@pytest.mark.timeout(600)
@pytest.mark.parametrize("compression", ["none", "4x", "32x"])
def test_compressed_vectors_are_found_filtered_and_given_back(
    request: pytest.FixtureRequest, compression: VectorCompression
) -> None:
    """R18: in the same order; reuse gets the vectors that were paid, as they were."""
    with index_engine(request, "opensearch", compression) as engine:
        near = entry("near", vector(1, 0.1, 0, 0), metadata={"language": "de"})
        far = entry("far", vector(-1, 0.2, 0, 0), metadata={"language": "de"})
        fill(engine, far, near, entry("other", vector(1, 0, 0, 0)))

        hits = engine.search(EAST, only=["language=de"])

        assert names(hits) == ["near", "far"]
        # Not the lower one: a segment of a single vector quantizes the question by that vector.
        assert hits[0].score == pytest.approx(0.9975, abs=0.05)
        [held] = engine.index.read([near.entry_id], hashes=["h0"]).values()
        assert held.vectors["h0"] == pytest.approx(near.chunks[0].vector)


@pytest.fixture
def incomplete(request: pytest.FixtureRequest) -> Iterator[tuple[OpenSearchHttp, str]]:
    """Make an index that lacks a shard: on a single node, the second one has no place."""
    http, name = opensearch(request), f"contract-{uuid4()}"
    settings = {"knn": True, "number_of_shards": 2, "number_of_replicas": 0}
    settings |= {"routing.allocation.total_shards_per_node": 1}
    mapped = {"properties": properties(dimensions=4, metadata=METADATA)}
    body = {"settings": {"index": settings}, "mappings": mapped}
    http.call("PUT", name, body, query={"wait_for_active_shards": "0"})

    def states() -> list[str]:
        shards = http.call("GET", f"_cat/shards/{name}", query={"format": "json"})
        return sorted(shard["state"] for shard in shards)

    until(lambda: states() == ["STARTED", "UNASSIGNED"], "one shard is there")
    yield http, name
    http.call("DELETE", name)


@pytest.mark.engines
def test_search_that_a_shard_cannot_answer_fails(incomplete: tuple[OpenSearchHttp, str]) -> None:
    """R48: what is found in the others would look like all that there is."""
    http, name = incomplete

    with pytest.raises(FailureError, match="OpenSearch: it answered 503"):
        OpenSearchSearch(http).ask(name, Question("text", words="hare"))


@pytest.mark.engines
def test_comparison_that_a_shard_cannot_answer_fails(
    incomplete: tuple[OpenSearchHttp, str],
) -> None:
    """R45: its documents would be called missing, and be sent and paid again."""
    reader = OpenSearchReader(*incomplete)

    with pytest.raises(FailureError, match="OpenSearch: it answered 503"):
        reader.sums("articles")
    with pytest.raises(FailureError, match="OpenSearch: it answered 503"):
        reader.page("articles", after=None, most=10)
