"""Stories of lanes, targets and time, on the in-memory engines."""

from functools import partial

from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import Group, Status
from local.memory.index import HashedEmbedder
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline, make_source, make_target
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import row, texts, write


def test_one_targets_trouble_does_not_stop_another() -> None:
    """R14: each target has its own lanes and provider."""
    broken = FakeEmbedder()
    broken.failures = [Failure(FailureKind.CONFIGURATION, "401")] * 1000
    pipeline = MemoryPipeline(
        [make_source(targets=("good", "bad"))],
        [make_target(name="good"), make_target(name="bad")],
        embedders={"good": HashedEmbedder(16), "bad": broken},
    )
    pipeline.tables["articles"].put({"id": "a", "body": "hello"})
    pipeline.deliver_new()

    pipeline.run("bad/normal")
    pipeline.run("good/normal")

    good = pipeline.row("a", source="articles", target="good")
    bad = pipeline.row("a", source="articles", target="bad")
    assert good is not None
    assert good.status is Status.COMPLETED
    assert bad is not None
    assert (bad.status, bad.progress.attempts) == (Status.PENDING, 0)


def test_tasks_of_a_sequential_source_are_worked_one_at_a_time() -> None:
    """R33: while one is in flight, no other is given out."""
    pipeline = make_pipeline(source={"ordering": "sequential"})
    for name in ("a", "b", "c"):
        write(pipeline, name, "hello")
    pipeline.deliver_new()

    first = pipeline.queues.receive("default/sequential-articles", 1)
    second = pipeline.queues.receive("default/sequential-articles", 1)

    assert (len(first), second) == (1, [])


def test_bulk_work_does_not_stand_before_live_writes() -> None:
    """R32: lanes are queues of their own."""
    pipeline = make_pipeline(source={"priority_attribute": "priority"})
    for number in range(50):
        write(pipeline, f"bulk-{number}", f"old {number}", priority="bulk")
    write(pipeline, "live", "now", priority="high")
    pipeline.deliver_new()

    pipeline.run("default/high")

    assert texts(pipeline) == {"live": "now"}


def test_batch_larger_than_its_time_is_handed_back_without_a_charge(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R09 R31: no round starts without the time to finish."""
    write(pipeline, "a", "hello")
    pipeline.deliver_new()

    messages = pipeline.queues.receive("default/normal", 10)
    left = iter([120.0])
    pipeline.embed["default"].process(messages, lambda: next(left, 20.0))

    assert embedder.requests == []
    assert row(pipeline, "a").progress.attempts == 0
    pipeline.drain()
    assert texts(pipeline) == {"a": "hello"}


def test_batches_that_runs_never_reach_wait_in_the_ledger(pipeline: MemoryPipeline) -> None:
    """R20 R31: no attempt is spent, and no message becomes a dead letter for want of time."""
    write(pipeline, "a", "hello")
    pipeline.deliver_new()
    for _ in range(8):
        messages = pipeline.queues.receive("default/normal", 10)
        left = [1.0, 120.0]
        failed = pipeline.embed["default"].process(messages, partial(_next, left))
        for message in messages:
            if message.message_id not in failed:
                pipeline.queues.acknowledge(message)
        pipeline.clock.advance(10_000)

    waiting = row(pipeline, "a")
    assert (waiting.group, waiting.progress.attempts) == (Group.PARKED, 0)
    pipeline.drain()
    assert texts(pipeline) == {"a": "hello"}
    assert pipeline.queues.dead_letters() == []


def _next(values: list[float]) -> float:
    """Take the values from the last to the first, which stays."""
    return values.pop() if len(values) > 1 else values[0]
