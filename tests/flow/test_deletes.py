"""Stories of documents that should not be found, on the in-memory engines."""

import pytest

from functions.core.failure import Failure, FailureKind
from functions.core.identity import EntryId
from functions.core.ledger_row import Status
from local.memory.pipeline import MemoryPipeline
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import row, texts, write


@pytest.mark.parametrize(
    "change", [{"body": ""}, {"hidden": True}, None], ids=["emptied", "skip flag", "removed"]
)
def test_document_that_should_not_be_found_is_not(
    pipeline: MemoryPipeline, change: dict[str, object] | None
) -> None:
    """R07 R32: deleted, emptied and skipped documents leave the search."""
    write(pipeline, "a", "hello")
    pipeline.drain()
    if change is None:
        pipeline.tables["articles"].delete({"id": "a"})
    else:
        pipeline.tables["articles"].put({"id": "a", "body": "hello"} | change)

    pipeline.drain()

    assert texts(pipeline) == {}
    assert row(pipeline, "a").status is (Status.DELETED if change is None else Status.SKIPPED)


def test_late_older_run_cannot_bring_a_deleted_document_back(pipeline: MemoryPipeline) -> None:
    """R07: the tombstone answers for the version of the delete."""
    write(pipeline, "a", "hello")
    pipeline.drain()
    old = pipeline.indexes["default"].entries[EntryId("articles/a")]
    pipeline.tables["articles"].delete({"id": "a"})
    pipeline.drain()

    pipeline.indexes["default"].write([old], searchable_now=True)

    assert texts(pipeline) == {}


def test_delete_leaves_the_search_while_the_provider_is_down(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R15: deletes have a lane of their own, and need no provider."""
    write(pipeline, "a", "hello")
    pipeline.drain()
    embedder.failures = [Failure(FailureKind.PROVIDER_ERROR, "503")] * 100
    write(pipeline, "b", "never")
    pipeline.tables["articles"].delete({"id": "a"})
    pipeline.deliver_new()

    pipeline.run("default/delete")

    assert texts(pipeline) == {}


def test_delete_does_not_wait_behind_a_failing_version(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R04: another queue, so the hidden message of the old version blocks nothing."""
    write(pipeline, "a", "one")
    pipeline.drain()
    embedder.failures = [Failure(FailureKind.PROVIDER_ERROR, "503")]
    write(pipeline, "a", "two")
    pipeline.deliver_new()
    pipeline.run("default/normal")
    pipeline.tables["articles"].delete({"id": "a"})
    pipeline.deliver_new()

    pipeline.run("default/delete")

    assert row(pipeline, "a").status is Status.DELETED


def test_document_written_again_after_its_delete_is_embedded(pipeline: MemoryPipeline) -> None:
    """R07: a task of the delete lane whose item exists again goes where it is embedded."""
    write(pipeline, "a", "one")
    pipeline.drain()
    pipeline.tables["articles"].delete({"id": "a"})
    pipeline.deliver_new()
    write(pipeline, "a", "two")

    pipeline.run("default/delete")

    assert [name for name, _ in pipeline.telemetry.events].count("task_moved") == 1
    pipeline.drain()
    assert texts(pipeline) == {"a": "two"}
