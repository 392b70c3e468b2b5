"""A read alias that moves while searches run: each is answered by one index, with its own model."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_index import OpenSearchIndex
from functions.adapters.opensearch_search import OpenSearchSearch
from functions.core.failure import MissingIndexError
from functions.core.ports import SearchIndex, VectorIndex
from functions.core.search import SearchAnswer, SearchRequest, ServedIndex
from functions.core.settings import TargetSettings
from functions.index_setup.ensure import IndexSpec, ensure_index
from functions.search.process import Search
from local.memory.index import MemoryIndex, MemorySearch
from tests.builders import make_source, make_target
from tests.contract.engines import real
from tests.contract.index_engines import entry, opensearch, vector

if TYPE_CHECKING:
    from functions.core.entry import Vector

# The same text by two models of the same dimensions: nothing but the result tells them apart.
MEANINGS = {"small": vector(1, 0, 0, 0), "large": vector(0, 1, 0, 0)}
SEARCHES = 60


@dataclass
class Switch:
    """Two targets, and how to move the read alias of the first."""

    targets: dict[str, TargetSettings]
    index: SearchIndex
    move: Callable[[str], None]

    def search(self, during: Callable[[], None] = lambda: None) -> Search:
        """Search; `during` is called between the alias and the index."""

        def vector_of(target: TargetSettings, words: str) -> "Vector":
            del words
            during()
            return MEANINGS[target.model]

        return Search(
            index=self.index,
            vector_of=vector_of,
            why_stopped=lambda _: None,
            targets=self.targets,
            sources=[make_source(targets=tuple(self.targets))],
        )


@pytest.fixture(params=["memory", real("opensearch")])
def switch(request: pytest.FixtureRequest) -> Iterator[Switch]:
    with _memory() if request.param == "memory" else _opensearch(request) as made:
        yield made


def _targets(alias: str) -> dict[str, TargetSettings]:
    common: dict[str, Any] = {"dimensions": 4}
    old = make_target(name="default", model="small", index=f"{alias}-old", **common)
    new = make_target(
        name="next", model="large", index=f"{alias}-new", replaces="default", **common
    )
    return {"default": old, "next": new}


def _fill(index: VectorIndex, model: str) -> None:
    """Let a question by another model find the wrong document."""
    [other] = set(MEANINGS) - {model}
    entries = [entry("right", MEANINGS[model]), entry("wrong", MEANINGS[other])]
    index.write(entries, searchable_now=True)


@pytest.fixture(params=["memory", real("opensearch")])
def lost(request: pytest.FixtureRequest) -> VectorIndex:
    """Return an index that is gone."""
    if request.param == "opensearch":
        return OpenSearchIndex(opensearch(request), f"switch-{uuid4()}")
    index = MemoryIndex(4)
    index.lose()
    return index


@contextmanager
def _memory() -> Iterator[Switch]:
    targets = _targets("articles")
    indexes = {f"{one.index}-1": MemoryIndex(4) for one in targets.values()}
    served = {
        f"{one.index}-read": ServedIndex(f"{one.index}-1", one.model, 4) for one in targets.values()
    }
    by_name = {one.name: served[f"{one.index}-read"] for one in targets.values()}
    for one in targets.values():
        _fill(indexes[f"{one.index}-1"], one.model)
    search = MemorySearch(indexes, served)

    def move(to: str) -> None:
        search.served["articles-old-read"] = by_name[to]

    yield Switch(targets, search, move)


@contextmanager
def _opensearch(request: pytest.FixtureRequest) -> Iterator[Switch]:
    http = opensearch(request)
    alias = f"switch-{uuid4()}"
    admin, targets = OpenSearchAdmin(http), _targets(alias)
    for one in targets.values():
        ensure_index(IndexSpec(one.index, one.model, 4, metadata={}), admin)
        _fill(OpenSearchIndex(http, one.index), one.model)
    read = f"{alias}-old-read"

    def move(to: str) -> None:
        before, after = admin.indexes_behind(read), f"{targets[to].index}-1"
        if before != {after}:
            admin.move_alias(read, before=before, after=after)

    yield Switch(targets, OpenSearchSearch(http), move)
    http.call("DELETE", f"{alias}*")


def check(answer: SearchAnswer) -> str:
    assert [one.document for one in answer.results] == ["right", "wrong"]
    assert (answer.mode, answer.notes) == ("knn", ())
    return answer.index.removesuffix("-1").rpartition("-")[2]


def test_alias_that_moves_between_the_two_steps_mixes_no_models(switch: Switch) -> None:
    """R44: the index that was resolved is asked, with its own model, wherever the alias is now."""
    order = ["next", "default"]

    def flip() -> None:
        switch.move(order[0])
        order.reverse()

    search = switch.search(during=flip)
    answered = [
        check(search.answer(SearchRequest(query="text", mode="knn", size=2))) for _ in range(6)
    ]

    assert answered == ["old", "new"] * 3


def test_lost_index_is_told_from_one_that_does_not_answer(lost: VectorIndex) -> None:
    """R44: a new target does without the vectors of an old one that is gone."""
    with pytest.raises(MissingIndexError, match="no index behind"):
        lost.read([entry("a").entry_id], hashes=["h0"])


def test_no_search_fails_while_the_alias_moves(switch: Switch) -> None:
    """R44: searches without a target, side by side with switches and rollbacks."""
    is_over = threading.Event()

    def move_on() -> None:
        while not is_over.is_set():
            for name in ("next", "default"):
                switch.move(name)

    mover = threading.Thread(target=move_on)
    mover.start()
    search = switch.search()
    try:
        for _ in range(SEARCHES):
            check(search.answer(SearchRequest(query="text", mode="knn", size=2)))
    finally:
        is_over.set()
        mover.join()
