"""The step put together: the index of a replaced target lends vectors, and stops nothing."""

import pytest

from functions.core.breaker import Breaker
from functions.core.entry import Entry
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_source, make_target
from tests.fake_embedder import FakeEmbedder


@pytest.fixture
def embedder() -> FakeEmbedder:
    """Return the provider of the new target."""
    return FakeEmbedder()


@pytest.fixture
def pipeline(embedder: FakeEmbedder) -> MemoryPipeline:
    """Make a stage in which a target replaces another one with the same model."""
    old = make_target()
    new = make_target(name="next", index="next-index", replaces="default", reused_index=old.index)
    return MemoryPipeline(
        [make_source(targets=("default", "next"))],
        [old, new],
        embedders={"default": FakeEmbedder(), "next": embedder},
    )


def written(pipeline: MemoryPipeline, name: str, body: str) -> list[str]:
    """Write a document, and return what the new target's index has then."""
    pipeline.tables["articles"].put({"id": name, "body": body})
    pipeline.deliver_new()
    for lane in ("default/normal", "next/normal"):
        pipeline.run(lane)
    entries = pipeline.indexes["next"].entries.values()
    return [one.document_id for one in entries if isinstance(one, Entry)]


def test_second_target_takes_the_vectors_of_the_first(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R44 R13: a document of the old index costs nothing in the new one."""
    assert written(pipeline, "a", "hello") == ["a"]
    assert embedder.requests == []


def test_lost_index_of_the_old_target_does_not_stop_the_new_one(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R44 R14: its documents are paid and indexed, and its breaker has nothing to do with it."""
    pipeline.indexes["default"].lose()

    assert written(pipeline, "a", "hello") == ["a"]

    assert embedder.requests == [["hello"]]
    assert pipeline.control.read("next").index == Breaker()
    said = [one for one in pipeline.telemetry.events if one[0] == "replaced_index_missing"]
    assert said == [("replaced_index_missing", {"documents": 1})]
