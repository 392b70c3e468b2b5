"""Stories of waiting, healing and recovery, on the in-memory engines with a moved clock."""

from functions.adapters.eventbridge_announcer import DETAIL_TYPES
from functions.core.breaker import Circuit
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ledger_row import Group, Status
from functions.core.retry_policy import PRESETS, Healing, RetrySettings
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline, make_source, make_target
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import PARAGRAPHS, row, texts, write

BROKEN = Failure(FailureKind.PROVIDER_ERROR, "503")
STRANGE = Failure(FailureKind.UNKNOWN, "strange")
MINUTE_MS = 60_000


def test_newer_version_does_not_wait_behind_a_long_backoff(embedder: FakeEmbedder) -> None:
    """R04 R20: an hour's delay is kept by the ledger, not by the queue."""
    retry = RetrySettings(default=PRESETS["slow-5"])
    pipeline = make_pipeline(target={"retry": retry}, embedders={"default": embedder})
    embedder.failures = [STRANGE]
    write(pipeline, "a", "first")
    pipeline.deliver_new()
    pipeline.run("default/normal")
    assert row(pipeline, "a").group is Group.PARKED
    assert pipeline.queues.depth("default/normal") == 0

    write(pipeline, "a", "second")
    pipeline.deliver_new()
    pipeline.run("default/normal")

    assert texts(pipeline) == {"a": "second"}


def test_parked_task_comes_back_when_it_is_due(embedder: FakeEmbedder) -> None:
    """R20 R29: the sweep's minute tick sends it, and not before its time."""
    retry = RetrySettings(default=PRESETS["slow-5"])
    pipeline = make_pipeline(target={"retry": retry}, embedders={"default": embedder})
    embedder.failures = [STRANGE]
    write(pipeline, "a", "hello")
    pipeline.deliver_new()
    pipeline.run("default/normal")

    pipeline.clock.advance(299)
    pipeline.sweep("due")
    assert pipeline.queues.depth("default/normal") == 0
    pipeline.clock.advance(1)
    pipeline.sweep("due")
    pipeline.run("default/normal")

    done = row(pipeline, "a")
    assert (done.status, done.progress.attempts) == (Status.COMPLETED, 2)


def test_failed_document_heals_by_itself(pipeline: MemoryPipeline, embedder: FakeEmbedder) -> None:
    """R30: attempts ran out an hour ago; when the cause is gone it completes, without a person."""
    embedder.failures = [STRANGE] * 8
    write(pipeline, "a", "hello")
    pipeline.drain()

    done = row(pipeline, "a")
    assert (done.status, done.progress.attempts) == (Status.COMPLETED, 9)
    assert pipeline.queues.dead_letters() == []
    # Five attempts within about a minute; then after 1, 5, 10 and 20 minutes.
    assert 36 <= (pipeline.clock() - done.created_ms) / MINUTE_MS <= 40


def test_healing_waits_for_quiet_lanes(pipeline: MemoryPipeline, embedder: FakeEmbedder) -> None:
    """R30: retries never starve new work."""
    embedder.failures = [STRANGE] * 5
    write(pipeline, "a", "hello")
    pipeline.deliver_new()
    while not row(pipeline, "a").is_healing:
        pipeline.run("default/normal")
        pipeline.clock.advance(120)
    for number in range(11):
        write(pipeline, f"new {number}", "live work")
    pipeline.deliver_new()

    pipeline.sweep("maintenance")
    assert row(pipeline, "a").is_healing
    pipeline.run("default/normal")
    pipeline.sweep("maintenance")

    assert row(pipeline, "a").status is Status.PENDING
    pipeline.drain()
    assert len(texts(pipeline)) == 12


def test_what_never_heals_is_a_persons_after_a_day(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R27 R30: the dead letters hold what needs a person, with its reason and history."""
    embedder.failures = [STRANGE] * 1000
    write(pipeline, "a", "hello")
    pipeline.drain()

    failed = row(pipeline, "a")
    assert failed.status is Status.FAILED_MAX_RETRIES
    assert "unknown: strange" in (failed.outcome.reason or "")
    assert 24 <= (pipeline.clock() - failed.created_ms) / (60 * MINUTE_MS) <= 26
    assert len(pipeline.queues.dead_letters()) == 1
    embedder.failures = []
    pipeline.clock.advance(1)
    pipeline.queues.redrive()
    pipeline.drain()
    assert row(pipeline, "a").status is Status.COMPLETED


def test_outage_of_an_hour_costs_no_document_anything(embedder: FakeEmbedder) -> None:
    """R25 R31: the breaker opens, nothing is received while it is open, all complete after."""
    pipeline = make_pipeline(embedders={"default": embedder})
    embedder.failures = [BROKEN] * 10_000
    for number in range(200):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.deliver_new()
    while pipeline.control.read("default").provider.state is Circuit.CLOSED:
        pipeline.run("default/normal")
        pipeline.clock.advance(1)
    pipeline.reconcile()
    asked, received = embedder.asked, sum(pipeline.queues.receive_counts())

    for _ in range(60):
        pipeline.clock.advance(60)
        pipeline.reconcile()
        pipeline.sweep("due")
        pipeline.sweep("maintenance")
        assert pipeline.run("default/normal") == 0

    assert sum(pipeline.queues.receive_counts()) == received
    assert embedder.asked - asked < 20
    embedder.failures = []
    pipeline.drain()
    assert len(texts(pipeline)) == 200
    assert pipeline.queues.dead_letters() == []
    # Ten requests were enough to know; the documents of the others were never tried in vain.
    assert sum(row.progress.attempts > 1 for row in pipeline.ledger.rows.values()) <= 100


def test_deletes_go_on_while_the_breaker_is_open(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R15 R25: a deleted document leaves the search though nothing can be embedded."""
    write(pipeline, "a", "hello")
    pipeline.drain()
    embedder.always = FailureError(Failure(FailureKind.CONFIGURATION, "401"))
    write(pipeline, "b", "more")
    pipeline.deliver_new()
    pipeline.run("default/normal")
    pipeline.reconcile()
    assert "default/normal" in pipeline.mappings.disabled

    pipeline.tables["articles"].delete({"id": "a"})
    pipeline.deliver_new()
    pipeline.run("default/delete")

    assert row(pipeline, "a").status is Status.DELETED
    assert texts(pipeline) == {}


def test_one_targets_breaker_does_not_stop_another() -> None:
    """R14 R25: each target has its own."""
    bad, good = FakeEmbedder(), FakeEmbedder()
    bad.always = FailureError(Failure(FailureKind.CONFIGURATION, "401"))
    pipeline = MemoryPipeline(
        [make_source(targets=("default", "other"))],
        [make_target(), make_target(name="other", index="other")],
        embedders={"default": bad, "other": good},
    )
    write(pipeline, "a", "hello")
    pipeline.deliver_new()
    for name in ("default/normal", "other/normal"):
        pipeline.run(name)
    pipeline.reconcile()

    assert pipeline.mappings.disabled == {
        "default/high",
        "default/normal",
        "default/bulk",
    }
    done = pipeline.row("a", source="articles", target="other")
    assert done is not None
    assert done.status is Status.COMPLETED


def test_document_with_a_poisoned_chunk_is_searchable_without_it(
    pipeline: MemoryPipeline,
) -> None:
    """R27: the rest is found, the progress is whole, and the row tells what is missing."""
    write(pipeline, "a", "\n\n".join([*PARAGRAPHS, "poison " * 40, *PARAGRAPHS]))
    pipeline.drain()

    done = row(pipeline, "a")
    assert done.status is Status.PARTIALLY_COMPLETED
    assert done.indexed.chunks_failed >= 1
    assert done.indexed.chunks_done + done.indexed.chunks_failed == done.indexed.chunks_total
    found = texts(pipeline)["a"]
    assert "subject 31." in found
    assert "poison" not in found
    assert pipeline.queues.dead_letters() == []


def test_last_attempt_indexes_what_was_paid(embedder: FakeEmbedder) -> None:
    """R13 R27: half of a long document is better than none of it."""
    pipeline = make_pipeline(
        target={
            "chunk_tokens": 60,
            "tokens_per_request": 400,
            "retry": RetrySettings(healing=Healing(hours=0)),
        },
        embedders={"default": embedder},
    )
    write(pipeline, "a", "\n\n".join(PARAGRAPHS))
    embedder.by_word["subject 93."] = FailureError(Failure(FailureKind.UNKNOWN, "broken"))
    pipeline.drain()

    done = row(pipeline, "a")
    assert (done.status, done.progress.attempts) == (Status.PARTIALLY_COMPLETED, 5)
    assert 0 < done.indexed.chunks_failed < done.indexed.chunks_total
    assert "subject 341." in texts(pipeline)["a"]


def test_every_end_is_announced(pipeline: MemoryPipeline) -> None:
    """R27: completed, partially completed, failed, deleted and skipped, each with its version."""
    write(pipeline, "whole", "hello")
    write(pipeline, "part", "\n\n".join([*PARAGRAPHS, "poison " * 40]))
    write(pipeline, "bad", "poison")
    write(pipeline, "hidden", "secret", hidden=True)
    write(pipeline, "gone", "hello")
    pipeline.tables["articles"].delete({"id": "gone"})
    pipeline.drain()

    announced = {
        (event.document_id, DETAIL_TYPES[event.status]) for event in pipeline.announcer.events
    }
    assert announced == {
        ("whole", "Document Completed"),
        ("part", "Document Partially Completed"),
        ("bad", "Document Failed"),
        ("hidden", "Document Skipped"),
        ("gone", "Document Deleted"),
    }


def test_end_that_could_not_be_announced_is_announced_later(pipeline: MemoryPipeline) -> None:
    """R27: at least once; the document is not paid again for it."""
    pipeline.announcer.refuses = 1
    write(pipeline, "a", "hello")
    pipeline.drain()

    assert [event.document_id for event in pipeline.announcer.events] == ["a"]
    done = row(pipeline, "a")
    assert (done.status, done.progress.attempts) == (Status.COMPLETED, 1)
    assert pipeline.telemetry.metrics["ProviderRequests"] == 1


def test_refused_event_is_logged_as_a_failure(pipeline: MemoryPipeline) -> None:
    """R27 R28: with its kind and reason, in the run's report, and without a freshness."""
    pipeline.announcer.refuses = 1
    write(pipeline, "a", "hello")
    pipeline.deliver_new()
    pipeline.run("default/normal")

    [failed] = [fields for name, fields in pipeline.telemetry.events if name == "task_failed"]
    assert (failed["failure"], failed["attempt"]) == ("event_refused", 0)
    assert failed["reason"] == "EventBridge did not take the event of its end"
    assert "freshness_ms" not in failed
    assert pipeline.telemetry.details["Failures", "event_refused"] == 1
    assert "FreshnessMilliseconds" not in pipeline.telemetry.metrics


def test_failure_of_many_is_logged_once(pipeline: MemoryPipeline, embedder: FakeEmbedder) -> None:
    """R26: one line with the cause and the number, not ten."""
    embedder.failures = [BROKEN]
    for number in range(10):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.deliver_new()
    pipeline.run("default/normal")

    logged = [fields for name, fields in pipeline.telemetry.events if name == "failure_bulk"]
    assert [(one["failure"], one["documents"]) for one in logged] == [("provider_error", 10)]


def test_throttled_run_waits_and_goes_on(pipeline: MemoryPipeline, embedder: FakeEmbedder) -> None:
    """R23: the batch stays whole, no attempt is spent, and the same run completes it."""
    embedder.failures = [Failure(FailureKind.THROTTLED, "429", 7)]
    for number in range(10):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.deliver_new()
    began_ms = pipeline.clock()
    pipeline.run("default/normal")

    assert [len(request) for request in embedder.requests] == [10]
    assert pipeline.clock() - began_ms >= 7000
    assert {row.progress.attempts for row in pipeline.ledger.rows.values()} == {1}
    assert {row.status for row in pipeline.ledger.rows.values()} == {Status.COMPLETED}
