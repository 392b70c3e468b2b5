"""Stories of an index that is lost or replaced, on the in-memory engines."""

from functions.core.breaker import Circuit
from functions.core.ledger_row import Status
from local.memory.pipeline import MemoryPipeline
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import row, texts, write


def reported(pipeline: MemoryPipeline) -> list[str]:
    """Return what the sweep said about lost indexes."""
    return [fields["reason"] for name, fields in pipeline.telemetry.events if name == "index_lost"]


def test_items_that_are_written_again_fill_a_new_index(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R06 R12: nothing of them has changed, but the index that had them is gone."""
    write(pipeline, "a", "hello", touched=1)
    pipeline.drain()
    write(pipeline, "a", "hello", touched=2)
    pipeline.drain()
    assert embedder.requests == [["hello"]]

    pipeline.indexes["default"].lose("index-2")
    pipeline.sweep("due")
    pipeline.clock.advance(60)
    write(pipeline, "a", "hello", touched=3)
    pipeline.drain()

    assert texts(pipeline) == {"a": "hello"}
    assert row(pipeline, "a").indexed.index_uuid == "index-2"
    write(pipeline, "a", "hello", touched=4)
    pipeline.drain()
    assert pipeline.telemetry.metrics["ChangesUnchanged"] == 2
    assert len(embedder.requests) == 2


def test_lost_index_is_reported_until_another_one_is_there(pipeline: MemoryPipeline) -> None:
    """R61: once a minute while it is gone, and once for the new one."""
    pipeline.sweep("due")
    assert reported(pipeline) == []

    pipeline.indexes["default"].lose()
    pipeline.sweep("due")
    pipeline.sweep("due")
    pipeline.indexes["default"].lose("index-2")
    pipeline.sweep("due")
    pipeline.sweep("due")

    gone, still_gone, other = reported(pipeline)
    assert gone == still_gone
    assert gone == (
        "the index behind articles-index is gone: give the target another index name and deploy, "
        "then write the items again"
    )
    assert other == (
        "another index than before is behind articles-index: unless its entries were moved"
        " with it, write the items again"
    )
    assert pipeline.telemetry.metrics["LostIndexes"] == 3


def test_documents_wait_for_a_lost_index_and_spend_no_attempt(pipeline: MemoryPipeline) -> None:
    """R24 R25: one write finds out, and the breaker says why; a new index gets them all."""
    pipeline.indexes["default"].lose()
    for number in range(3):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.deliver_new()
    for _ in range(48 * 60):
        pipeline.run("default/normal")
        pipeline.reconcile()
        pipeline.sweep("due")
        pipeline.clock.advance(60)
    rows = pipeline.ledger.rows.values()
    assert {(row.status, row.progress.attempts) for row in rows} == {(Status.PENDING, 0)}
    breaker = pipeline.control.read("default").index
    assert breaker.state is Circuit.OPEN
    assert "no index behind" in breaker.reason

    pipeline.indexes["default"].lose("index-2")
    pipeline.drain()

    assert len(texts(pipeline)) == 3
    assert pipeline.queues.dead_letters() == []


def test_run_that_began_before_the_index_was_lost_counts_for_the_old_one(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R06: its write may have gone to either; so the item is not called unchanged."""
    write(pipeline, "a", "hello")

    def lose_it() -> None:
        pipeline.indexes["default"].lose("index-2")
        pipeline.sweep("due")
        pipeline.clock.advance(5)

    embedder.meanwhile = lose_it
    pipeline.drain()

    assert row(pipeline, "a").indexed.index_uuid == "index-1"
    assert texts(pipeline) == {"a": "hello"}
