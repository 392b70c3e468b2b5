"""Requeue: open rows get a message again, once, under a new version."""

from functions.core.ledger_row import Status
from functions.sweep.requeue import Requeue
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline


def requeue(pipeline: MemoryPipeline) -> int:
    step = Requeue(pipeline.ledger, pipeline.queues, pipeline.telemetry, pipeline.clock)
    return step.requeue([row.row_key for row in pipeline.ledger.listed() if row.status.is_open])


def test_lost_queue_is_brought_back_by_the_ledger() -> None:
    """R29 R31: every open document completes, although its message is gone."""
    pipeline = make_pipeline()
    for name in ("a", "b", "c"):
        pipeline.tables["articles"].put({"id": name, "body": f"text of {name}"})
    pipeline.deliver_new()
    lost = pipeline.queues.receive("default/normal", 10)
    for message in lost:
        pipeline.queues.acknowledge(message)

    sent = requeue(pipeline)

    pipeline.drain()
    assert sent == 3
    assert {row.status for row in pipeline.ledger.rows.values()} == {Status.COMPLETED}


def test_requeue_takes_a_version_that_sqs_has_not_seen() -> None:
    """R29: a repeated deduplication id would be swallowed; attempts stay."""
    pipeline = make_pipeline()
    pipeline.tables["articles"].put({"id": "a", "body": "text"})
    pipeline.deliver_new()
    [before] = pipeline.ledger.rows.values()

    requeue(pipeline)

    [after] = pipeline.ledger.rows.values()
    assert after.version > before.version
    assert pipeline.queues.depth("default/normal") == 2


def test_closed_rows_are_left_alone() -> None:
    """R29: nothing is owed."""
    pipeline = make_pipeline()
    pipeline.tables["articles"].put({"id": "a", "body": "text"})
    pipeline.drain()

    assert requeue(pipeline) == 0
    assert list(pipeline.ledger.listed()) == []
