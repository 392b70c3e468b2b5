"""Requeue: open rows get a message again, once, under a new version."""

import pytest

from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Group, Status
from functions.sweep.requeue import Requeue
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.unit.sweep.world import World

OPEN = (Group.OPEN, Group.PARKED)


def requeue(pipeline: MemoryPipeline) -> int:
    step = Requeue(pipeline.ledger, pipeline.queues, pipeline.telemetry, pipeline.clock)
    return step.requeue([row.row_key for row in pipeline.ledger.listed(OPEN)])


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
    assert after.task.version > before.task.version
    assert pipeline.queues.depth("default/normal") == 2


def test_person_can_send_a_document_again_at_any_priority() -> None:
    """R32: by command; a document that failed for good starts anew."""
    pipeline = make_pipeline(target={"max_chunks": 1, "chunk_tokens": 20})
    pipeline.tables["articles"].put({"id": "a", "body": "many words. " * 50})
    pipeline.drain()
    [failed] = pipeline.ledger.rows.values()
    pipeline.tables["articles"].items.clear()
    pipeline.tables["articles"].put({"id": "a", "body": "few words"})
    step = Requeue(pipeline.ledger, pipeline.queues, pipeline.telemetry, pipeline.clock)

    sent = step.push(failed.row_key, Lane.HIGH)

    assert (failed.status, sent) == (Status.FAILED, True)
    pipeline.run("default/high")
    [done] = pipeline.ledger.rows.values()
    assert (done.status, done.task.lane) == (Status.COMPLETED, Lane.HIGH)


def test_document_sent_by_a_person_is_owed_nothing_more() -> None:
    """R32: a parked one too: its backoff is cut short, its attempts start anew."""
    world = World()
    parked = world.park("a", in_ms=60_000, attempts=4, free_retries=2)
    step = Requeue(world.ledger, world.queues, world.telemetry, world.clock)

    assert step.push(parked.row_key, Lane.BULK)

    row = world.row(parked)
    assert world.tasks(Lane.BULK) == [row.task]
    assert (row.progress.attempts, row.progress.free_retries, row.group) == (0, 0, Group.OPEN)


def test_unknown_document_cannot_be_sent() -> None:
    """R32: the command says so."""
    pipeline = make_pipeline()
    step = Requeue(pipeline.ledger, pipeline.queues, pipeline.telemetry, pipeline.clock)

    assert step.push(RowKey("default/articles/nobody"), Lane.HIGH) is False


def test_closed_rows_are_left_alone() -> None:
    """R29: nothing is owed."""
    pipeline = make_pipeline()
    pipeline.tables["articles"].put({"id": "a", "body": "text"})
    pipeline.drain()

    assert requeue(pipeline) == 0
    assert list(pipeline.ledger.listed(OPEN)) == []


SEQUENTIAL = "default/sequential-articles"


@pytest.mark.parametrize(("is_gone", "queue"), [(True, "normal"), (False, "sequential-articles")])
def test_source_that_is_no_longer_sequential_has_the_normal_lane(
    world: World, is_gone: bool, queue: str
) -> None:
    """R13 R29: its queue is gone with the setting; the row would be sent for ever."""
    parked = world.park("a", lane=Lane.SEQUENTIAL)
    world.queues.gone = {SEQUENTIAL} if is_gone else set()

    world.run("due")

    row = world.row(parked)
    assert (row.progress.sent, row.task.queue) == (True, queue)
    assert world.tasks(queue) == [row.task]


@pytest.mark.parametrize(("is_gone", "queue"), [(True, "high"), (False, "sequential-articles")])
def test_person_has_the_choice_of_lanes_unless_the_source_is_sequential(
    world: World, is_gone: bool, queue: str
) -> None:
    """R13 R32: as it is now, and not as it was when the row was made."""
    failed = world.fail("a", lane=Lane.SEQUENTIAL)
    world.queues.gone = {SEQUENTIAL} if is_gone else set()
    step = Requeue(world.ledger, world.queues, world.telemetry, world.clock)

    assert step.push(failed.row_key, Lane.HIGH)
    assert world.tasks(queue) == [world.row(failed).task]
