"""Stories of a budget: what parks, what goes on, and what comes back."""

from typing import Any

from functions.core.budget import NOT_RAISED, Raised
from functions.core.ledger_row import Group, LedgerRow, Status
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import row, texts, write

CHUNK_TOKENS = 16


def make(tokens_per_day: int, **target: Any) -> tuple[MemoryPipeline, FakeEmbedder]:
    embedder = FakeEmbedder()
    pipeline = make_pipeline(
        source={"priority_attribute": "priority", "metadata": {"colour": "keyword"}},
        target={
            "budget": {"tokens_per_day": tokens_per_day},
            "chunk_tokens": CHUNK_TOKENS,
            **target,
        },
        embedders={"default": embedder},
    )
    return pipeline, embedder


def waits(one: LedgerRow) -> bool:
    return one.group is Group.OVER_BUDGET and one.status is Status.PENDING


def run(pipeline: MemoryPipeline) -> None:
    """Deliver and work all there is now, without moving the clock."""
    pipeline.deliver_new()
    while pipeline.run_all():
        pass


def run_for_minutes(pipeline: MemoryPipeline, minutes: int) -> None:
    """Let the sweep and the workers go on for a while."""
    for _ in range(minutes):
        pipeline.clock.advance(60)
        pipeline.sweep("due")
        run(pipeline)


def write_many(pipeline: MemoryPipeline, number: int, **rest: object) -> None:
    for n in range(number):
        write(pipeline, f"d{n}", f"text number {n}", **rest)


def waiting(pipeline: MemoryPipeline) -> int:
    return sum(waits(one) for one in pipeline.ledger.rows.values())


def test_documents_above_the_budget_park_and_say_so_then_come_with_the_next_day() -> None:
    """R19: no attempt is spent, no breaker opens, nothing is lost."""
    pipeline, _ = make(100)
    write_many(pipeline, 40)
    run(pipeline)

    run_for_minutes(pipeline, 15)

    spent = pipeline.control.read("default").spent.tokens
    parked = [one for one in pipeline.ledger.rows.values() if waits(one)]
    assert 100 - CHUNK_TOKENS < spent <= 100
    assert 0 < len(texts(pipeline)) < 40
    assert len(parked) == 40 - len(texts(pipeline))
    assert {one.progress.attempts for one in parked} == {0}
    assert "is used up until 2023-11-15 00:00 UTC" in parked[0].errors[-1].message
    assert not pipeline.control.read("default").provider.state.stops_work

    pipeline.drain()

    assert len(texts(pipeline)) == 40
    assert pipeline.queues.dead_letters() == []


def test_raised_budget_brings_them_back_within_minutes() -> None:
    """R19: without waiting for midnight."""
    pipeline, _ = make(100)
    write_many(pipeline, 40)
    run(pipeline)
    raised = Raised(pipeline.clock() + 3_600_000, tokens=10_000, reason="a reload", since_ms=1)

    pipeline.control.raise_budget("default", NOT_RAISED, raised)
    run_for_minutes(pipeline, 6)

    assert len(texts(pipeline)) == 40


def test_deletes_and_unchanged_texts_go_on_without_a_budget() -> None:
    """R19: they make no request."""
    pipeline, embedder = make(100)
    write(pipeline, "gone", "text one")
    write(pipeline, "kept", "text two", colour="red")
    run(pipeline)
    write_many(pipeline, 40)
    run(pipeline)
    run_for_minutes(pipeline, 15)
    paid = len(embedder.requests)

    pipeline.tables["articles"].delete({"id": "gone"})
    write(pipeline, "kept", "text two", colour="blue")
    write(pipeline, "new", "never seen before")
    run(pipeline)

    assert row(pipeline, "gone").status is Status.DELETED
    assert row(pipeline, "kept").status is Status.COMPLETED
    [kept] = [e for e in pipeline.indexes["default"].entries.values() if e.document_id == "kept"]
    assert getattr(kept, "metadata", None) == {"colour": "blue"}
    assert waits(row(pipeline, "new"))
    assert len(embedder.requests) == paid


def test_live_writes_are_paid_after_bulk_has_stopped() -> None:
    """R19: bulk leaves a share of the day."""
    pipeline, _ = make(200)
    write_many(pipeline, 60, priority="bulk")
    run(pipeline)
    assert pipeline.control.read("default").spent.tokens <= 160

    write(pipeline, "live", "now", priority="high")
    run(pipeline)

    assert row(pipeline, "live").status is Status.COMPLETED
    assert waiting(pipeline) > 0


def test_document_larger_than_a_day_is_paid_over_several() -> None:
    """R19 R13: what each day has paid is kept."""
    pipeline, embedder = make(100)
    body = " ".join(f"Sentence number {n} is about subject {n * 7}." for n in range(16))
    write(pipeline, "long", body)

    pipeline.drain()

    assert row(pipeline, "long").status is Status.COMPLETED
    asked = [text for request in embedder.requests for text in request]
    assert len(asked) == len(set(asked))
    assert pipeline.control.read("default").spent.day > "2023-11-14"


def test_bulk_leaves_the_live_share_to_writes() -> None:
    """R19: a backfill uses up its own part, and a write of a person goes on."""
    pipeline, _ = make(100, budget={"tokens_per_day": 100, "live_share": 0.9})
    text = "one two three four five six seven eight nine ten eleven twelve"
    write(pipeline, "old", text, priority="bulk")
    write(pipeline, "new", text)

    run(pipeline)

    assert waits(row(pipeline, "old"))
    assert row(pipeline, "new").status is Status.COMPLETED
