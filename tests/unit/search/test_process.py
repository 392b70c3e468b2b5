"""A search, step by step, on an index in memory: what is asked, answered and said."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from functions.core.entry import Chunk, Entry, Hit
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import DocumentId
from functions.core.ports import HybridMissingError
from functions.core.search import Question, SearchRequest, ServedIndex
from functions.core.settings import TargetSettings
from functions.search.process import Search, SearchError
from local.memory.index import MemoryIndex, MemorySearch
from tests.builders import NOW_MS, make_source, make_target

if TYPE_CHECKING:
    from functions.core.entry import Vector

DIMENSIONS = 4
OLD = make_target(dimensions=DIMENSIONS, index="articles")
NEW = make_target(
    name="new", dimensions=DIMENSIONS, index="articles-new", model="text-embedding-3-large"
)
ARTICLES = make_source(metadata={"year": "long", "notes": "text"}, targets=("default", "new"))
MESSAGES = make_source(name="messages", metadata={"sender": "keyword"}, targets=("default",))


def entry(name: str, number: float, text: str = "", **changes: Any) -> Entry:
    vector = np.array([1, number, 0, 0], dtype=np.float32)
    values: dict[str, Any] = {
        "source": "articles",
        "document_id": DocumentId(name),
        "version": 1,
        "content_hash": "",
        "type": "article",
        "metadata": {"year": 2026},
        "chunks": (Chunk(text or f"text of {name}", "h", vector, 7),),
        "written_ms": NOW_MS,
        "model": OLD.model,
    }
    return Entry(**(values | changes))


class World:
    """Two targets, and the provider that embeds for both."""

    def __init__(self) -> None:
        self.indexes = {"articles-1": MemoryIndex(DIMENSIONS), "articles-new-1": MemoryIndex(4)}
        served = {
            "articles-read": ServedIndex("articles-1", OLD.model, DIMENSIONS),
            "articles-new-read": ServedIndex("articles-new-1", NEW.model, DIMENSIONS),
        }
        self.index = MemorySearch(self.indexes, served)
        self.embedded: list[tuple[str, str]] = []
        self.failure: Failure | None = None
        self.stopped: str | None = None

    def fill(self, *entries: Entry, index: str = "articles-1") -> None:
        self.indexes[index].write(entries, searchable_now=True)

    def vector_of(self, target: TargetSettings, words: str) -> "Vector":
        self.embedded.append((target.model, words))
        if self.failure is not None:
            raise FailureError(self.failure)
        return np.array([1, 0, 0, 0], dtype=np.float32)

    def search(self, *, index: Any = None) -> Search:
        return Search(
            index=index or self.index,
            vector_of=self.vector_of,
            why_stopped=lambda _: self.stopped,
            targets={"default": OLD, "new": NEW},
            sources=[ARTICLES, MESSAGES],
        )

    def ask(self, **asked: Any) -> Any:
        request = {"query": "text", "target": "default", "mode": "knn"} | asked
        return self.search().answer(SearchRequest.model_validate(request))


@pytest.fixture
def world() -> World:
    return World()


def names(answer: Any) -> list[str]:
    return [one.document for one in answer.results]


def test_result_has_passage_place_and_metadata(world: World) -> None:
    """R51: what an application shows, without another read."""
    world.fill(entry("a", 0, "a clever bird"))

    [result] = world.ask().results

    assert result.passage.model_dump() == {"text": "a clever bird", "start": 7, "end": 20}
    assert (result.source, result.document, result.type) == ("articles", "a", "article")
    assert result.metadata == {"year": 2026}
    assert result.score == pytest.approx(1.0)


def test_pages_show_every_result_once_in_one_order(world: World) -> None:
    """R51: by the cursor of the page before; the last page has none."""
    world.fill(*(entry(f"{number:03}", number / 10) for number in range(25)))
    pages: list[list[str]] = []
    cursor = None
    while True:
        answer = world.ask(size=10, cursor=cursor)
        pages.append(names(answer))
        if (cursor := answer.next) is None:
            break

    assert [len(page) for page in pages] == [10, 10, 5]
    assert [name for page in pages for name in page] == [f"{number:03}" for number in range(25)]


def test_no_more_than_200_results_on_all_pages(world: World) -> None:
    """R51: more than that nobody reads, and OpenSearch would have to sort."""
    world.fill(*(entry(f"{number:03}", number / 10) for number in range(250)))

    first = world.ask(size=150)
    second = world.ask(size=150, cursor=first.next)

    assert (len(first.results), len(second.results), second.next) == (150, 50, None)


def test_min_score_cuts_results_and_pages(world: World) -> None:
    """R51: on what is shown, not on what is looked at."""
    world.fill(entry("near", 0), entry("far", 10), entry("farther", 100))

    answer = world.ask(min_score=0.9, size=1)

    assert (names(answer), answer.next) == (["near"], None)


def test_min_score_is_not_applied_to_scores_of_another_scale(world: World) -> None:
    """R48 R51: while the provider is down an application would find nothing, or everything."""
    world.fill(*(entry(f"{number}", number, "a bird") for number in range(3)))
    world.stopped = "the provider's breaker is open"

    answer = world.ask(query="bird", mode="hybrid", min_score=0.99)

    assert len(answer.results) == 3
    assert answer.notes[1:] == ("min_score was not applied: scores by text have another scale",)


def test_next_page_in_another_mode_is_refused(world: World) -> None:
    """R48 R51: the provider fails between two pages; results would be skipped without a word."""
    world.fill(*(entry(f"{number}", number, "a bird") for number in range(3)))
    first = world.ask(query="bird", size=1)
    world.stopped = "the provider's breaker is open"

    with pytest.raises(SearchError, match="by knn, and now it is text: begin without") as caught:
        world.ask(query="bird", size=1, cursor=first.next)

    assert caught.value.status == 400


def test_page_is_no_longer_than_lambda_can_answer(world: World) -> None:
    """R51: what does not fit is on the next page, each result once."""
    long = {"year": 2026, "notes": "\u9e1f" * 100_000}
    world.fill(*(entry(f"{number:02}", number, metadata=long) for number in range(20)))

    first = world.ask(size=20)
    second = world.ask(size=20, cursor=first.next)
    third = world.ask(size=20, cursor=second.next)

    found = [names(page) for page in (first, second, third)]
    assert [one for page in found for one in page] == [f"{number:02}" for number in range(20)]
    assert third.next is None
    # By URL an answer is JSON in JSON, in which each of these characters has six bytes.
    assert all(
        len(json.dumps(page.model_dump_json())) < 6 * 1024 * 1024 for page in (first, second)
    )
    assert len(found[0]) > 1


def test_filters_and_sources_choose(world: World) -> None:
    """R51: several sources in one index."""
    world.fill(
        entry("old", 0, metadata={"year": 2020}),
        entry("new", 1),
        entry("mail", 2, source="messages", metadata={"sender": "ann"}),
    )

    assert names(world.ask(filters=["year>2020"])) == ["new"]
    assert names(world.ask(**{"not": ["year=2026"]})) == ["old", "mail"]
    assert names(world.ask(sources=["messages"])) == ["mail"]
    assert names(world.ask(sources=["articles", "messages"])) == ["old", "new", "mail"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"target": None}, "which target? `target` is one of: default, new"),
        ({"target": "other"}, "which target? `target` is one of: default, new"),
        ({"sources": ["x"]}, "no source x feeds the target default; there is: articles, messages"),
        (
            {"filters": ["month=1"]},
            "no source that is asked has the metadata month; there is: notes, sender, year",
        ),
        (
            {"sources": ["articles"], "filters": ["sender=ann"]},
            "no source that is asked has the metadata sender; there is: notes, year",
        ),
        ({"target": "new", "sources": ["messages"]}, "no source messages feeds the target new"),
        ({"cursor": "bm8="}, "the cursor is damaged"),
        (
            {"not": [f"notes={'word ' * 150}"] * 3},
            "the filters have more than 200 words: shorten them",
        ),
    ],
)
def test_wrong_question_is_refused_before_anything_is_paid(
    world: World, asked: dict[str, Any], message: str
) -> None:
    """R51: with what is allowed."""
    with pytest.raises(SearchError) as caught:
        world.ask(**asked)

    assert caught.value.status == 400
    assert str(caught.value).startswith(message)
    assert world.embedded == []


def test_question_is_embedded_by_the_model_of_the_index_behind_the_alias(world: World) -> None:
    """R44 R51: after the alias has moved, the other model and the other index answer."""
    world.fill(entry("a", 0))
    world.fill(entry("b", 0), index="articles-new-1")
    before = world.ask()
    world.index.served["articles-read"] = world.index.served["articles-new-read"]

    after = world.ask()

    assert (names(before), names(after)) == (["a"], ["b"])
    assert [model for model, _ in world.embedded] == [OLD.model, NEW.model]
    assert after.index == "articles-new-1"


@pytest.mark.parametrize(
    ("served", "message"),
    [
        (ServedIndex("other-1", OLD.model, 4), "no target of this stage fills the index other-1"),
        (ServedIndex("articles-1", "ada", 4), "holds vectors of ada with 4 dimensions"),
        (ServedIndex("articles-1", OLD.model, 8), "with 8 dimensions"),
    ],
)
def test_index_of_another_model_is_never_asked(
    world: World, served: ServedIndex, message: str
) -> None:
    """R44: results of two models would be mixed without a word."""
    world.index.served["articles-read"] = served

    with pytest.raises(SearchError, match=message) as caught:
        world.ask()

    assert caught.value.status == 503
    assert world.embedded == []


@pytest.mark.parametrize("mode", ["hybrid", "knn"])
@pytest.mark.parametrize("kind", [FailureKind.PROVIDER_ERROR, FailureKind.CONFIGURATION])
def test_search_goes_on_by_text_while_the_provider_fails(
    world: World, mode: str, kind: FailureKind
) -> None:
    """R48: and says so."""
    world.fill(entry("a", 0, "a clever bird"), entry("b", 0, "a stone"))
    world.failure = Failure(kind, "no")

    answer = world.ask(query="bird", mode=mode)

    assert (names(answer), answer.mode) == (["a"], "text")
    assert answer.notes == (f"by text alone: the provider failed ({kind})",)


def test_open_breaker_answers_by_text_without_asking_the_provider(world: World) -> None:
    """R25 R48: no person waits for a timeout."""
    world.fill(entry("a", 0, "a clever bird"))
    world.stopped = "the provider's breaker is open"

    answer = world.ask(query="bird", mode="hybrid")

    assert (names(answer), answer.notes) == (
        ["a"],
        ("by text alone: the provider's breaker is open",),
    )
    assert world.embedded == []


def test_text_pays_nothing(world: World) -> None:
    """R48: no vector is needed."""
    world.fill(entry("a", 0, "a clever bird"))

    answer = world.ask(query="bird", mode="text")

    assert (names(answer), answer.notes, world.embedded) == (["a"], (), [])


def test_question_that_the_provider_rejects_is_a_wrong_question(world: World) -> None:
    """R51: words alone would hide it."""
    world.failure = Failure(FailureKind.INVALID_INPUT, "too long")

    with pytest.raises(SearchError, match="the provider rejected the question: too long") as caught:
        world.ask()

    assert caught.value.status == 400


class OldIndex(MemorySearch):
    """OpenSearch before 3.0."""

    def ask(self, index: str, question: Question) -> list[Hit]:
        if question.mode == "hybrid":
            raise HybridMissingError
        return super().ask(index, question)


def test_index_without_hybrid_answers_by_meaning_and_says_so(world: World) -> None:
    """R48: domains before 3.0."""
    world.fill(entry("a", 0))
    old = OldIndex(world.indexes, world.index.served)

    answer = world.search(index=old).answer(SearchRequest(query="text", target="default"))

    assert (names(answer), answer.mode) == (["a"], "knn")
    assert "3.0 or newer" in answer.notes[0]


class BrokenIndex(MemorySearch):
    def ask(self, index: str, question: Question) -> list[Hit]:
        raise FailureError(Failure(FailureKind.INDEX_UNAVAILABLE, f"{index}: {question.mode}"))


def test_index_that_fails_is_a_503(world: World) -> None:
    """R51: an application can try again."""
    broken = BrokenIndex(world.indexes, world.index.served)

    with pytest.raises(SearchError, match="articles-1: knn") as caught:
        world.search(index=broken).answer(SearchRequest(query="text", target="default", mode="knn"))

    assert caught.value.status == 503


def test_only_target_needs_no_name(world: World) -> None:
    """R51: the usual stage."""
    world.fill(entry("a", 0))
    search = replace(world.search(), targets={"default": OLD})

    assert names(search.answer(SearchRequest(query="text"))) == ["a"]
