"""Metrics that no other story asks for: each is counted when its case happens."""

from typing import Any

import pytest

from functions.core.settings import VerifySettings
from functions.embed import handler as embed_handler
from functions.enqueue import handler as enqueue_handler
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline
from tests.flow.stories import write
from tests.flow.test_backfill import fill, finish, start
from tests.flow.test_proof import damage, hour


class Minute:
    """The context of a run that has a minute."""

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def test_changes_that_come_again_or_late_are_counted(pipeline: MemoryPipeline) -> None:
    """R05 R60: the same record twice, and one that is older than the row."""
    write(pipeline, "a", "one")
    write(pipeline, "a", "two")
    first, second = pipeline.tables["articles"].stream
    pipeline.deliver([second])
    pipeline.deliver([second])
    pipeline.deliver([first])

    metrics = pipeline.telemetry.metrics
    assert (metrics["ChangesRepeated"], metrics["ChangesStale"]) == (1, 1)


def test_task_that_a_queue_does_not_take_is_counted(pipeline: MemoryPipeline) -> None:
    """R60: the sweep sends it."""
    pipeline.queues.gone.add("default/normal")
    write(pipeline, "b", "two")
    pipeline.deliver_new()

    assert pipeline.telemetry.metrics["TasksNotSent"] == 1


def test_run_that_meets_the_end_of_a_budget_is_counted() -> None:
    """R19 R60: once a run."""
    pipeline = make_pipeline(target={"budget": {"tokens_per_day": 20}, "chunk_tokens": 16})
    for number in range(9):
        write(pipeline, f"{number}", f"five words of text {number}")
    pipeline.deliver_new()
    pipeline.run("default/normal")

    assert pipeline.telemetry.metrics["BudgetRefusals"] == 1


def test_documents_of_a_backfill_and_of_a_repair_are_counted(pipeline: MemoryPipeline) -> None:
    """R43 R56 R60: each as often as it was sent."""
    fill(pipeline, 5)
    start(pipeline)
    finish(pipeline)
    assert pipeline.telemetry.metrics["DocumentsBackfilled"] == 5

    proven = make_pipeline(verify=VerifySettings(days=1, repair=True))
    for number in range(40):
        write(proven, f"{number}", f"text {number}")
    proven.drain()
    planted = damage(proven)
    for _ in range(24):
        hour(proven)
    assert proven.telemetry.metrics["DocumentsRepaired"] == len(planted)


def test_handlers_count_what_they_receive(
    pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R60: before anything is done with it."""
    monkeypatch.setattr(enqueue_handler, "enqueue", lambda: pipeline.enqueue)
    monkeypatch.setattr(embed_handler, "embed", lambda: pipeline.embed["default"])
    write(pipeline, "a", "one")
    records: list[dict[str, Any]] = pipeline.tables["articles"].stream
    enqueue_handler.lambda_handler({"Records": records}, None)
    embed_handler.lambda_handler({"Records": []}, Minute())

    metrics = pipeline.telemetry.metrics
    assert metrics["RecordsReceived"] == 1
    assert "MessagesReceived" in metrics
