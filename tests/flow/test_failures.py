"""Stories of what fails and what becomes of it, on the in-memory engines."""

from collections.abc import Iterable, Sequence

import pytest

from functions.core.breaker import Circuit
from functions.core.entry import Entry, Tombstone, WriteResult
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import EntryId, RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Embedded, Swapped
from functions.core.retry_policy import PRESETS, Healing, RetrySettings
from functions.sweep.requeue import Requeue
from local.memory.index import MemoryIndex
from local.memory.ledger import MemoryLedger
from local.memory.pipeline import RUN_SECONDS, MemoryPipeline
from tests.builders import make_pipeline, make_target
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import PARAGRAPHS, paid_texts, row, texts, write


def test_failing_embedding_never_touches_the_document(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R03: the table holds just what the application wrote."""
    embedder.failures = [Failure(FailureKind.PROVIDER_ERROR, "503")] * 100
    write(pipeline, "a", "hello", year=1)
    before = dict(pipeline.tables["articles"].items)

    pipeline.drain()

    assert pipeline.tables["articles"].items == before
    assert len(pipeline.tables["articles"].stream) == 1


def test_failure_backs_off_and_recovers(pipeline: MemoryPipeline, embedder: FakeEmbedder) -> None:
    """R20 R28: two failures, then success; both stand in the history."""
    embedder.failures = [
        Failure(FailureKind.TIMEOUT, "no answer"),
        Failure(FailureKind.PROVIDER_ERROR, "503"),
    ]
    write(pipeline, "a", "hello")

    pipeline.drain()

    done = row(pipeline, "a")
    assert (done.status, done.progress.attempts) == (Status.COMPLETED, 3)
    assert [error.kind for error in done.errors] == ["timeout", "provider_error"]


def test_hopeless_document_ends_in_the_dead_letters(embedder: FakeEmbedder) -> None:
    """R20 R27: five attempts, then SQS's own redrive."""
    pipeline = make_pipeline(
        target={"retry": RetrySettings(healing=Healing(hours=0))}, embedders={"default": embedder}
    )
    embedder.failures = [Failure(FailureKind.UNKNOWN, "strange")] * 100
    write(pipeline, "a", "hello")

    pipeline.drain()

    failed = row(pipeline, "a")
    assert (failed.status, failed.progress.attempts) == (Status.FAILED_MAX_RETRIES, 5)
    assert len(pipeline.queues.dead_letters()) == 1


class BrokenIndex(MemoryIndex):
    """Refuses the next writes."""

    failures: int = 0

    def write(
        self, entries: Sequence[Entry | Tombstone], *, searchable_now: bool
    ) -> dict[EntryId, WriteResult]:
        if self.failures:
            self.failures -= 1
            raise FailureError(Failure(FailureKind.INDEX_UNAVAILABLE, "down"))
        return super().write(entries, searchable_now=searchable_now)


def test_vectors_are_not_paid_again_when_the_index_fails(embedder: FakeEmbedder) -> None:
    """R13: the retry takes them from the stash."""
    index = BrokenIndex(16)
    index.failures = 2
    pipeline = make_pipeline(embedders={"default": embedder}, indexes={"default": index})
    write(pipeline, "a", "hello")

    pipeline.drain()

    assert embedder.requests == [["hello"]]
    assert texts(pipeline) == {"a": "hello"}


def test_vectors_are_not_paid_again_by_a_newer_version(embedder: FakeEmbedder) -> None:
    """R13: it came while a run worked the older one, whose index write failed."""
    index = BrokenIndex(16)
    index.failures = 1
    pipeline = make_pipeline(embedders={"default": embedder}, indexes={"default": index})
    write(pipeline, "a", "hello", year=1)

    def replace_once() -> None:
        embedder.meanwhile = lambda: None
        write(pipeline, "a", "hello", year=2)
        pipeline.deliver_new()

    embedder.meanwhile = replace_once
    pipeline.drain()

    assert embedder.requests == [["hello"]]
    assert row(pipeline, "a").status is Status.COMPLETED


def test_vectors_are_not_paid_again_after_the_older_message_is_gone(
    embedder: FakeEmbedder,
) -> None:
    """R13: the older version was parked when a newer one came."""
    index = BrokenIndex(16)
    index.failures = 1
    pipeline = make_pipeline(
        target={"retry": RetrySettings(default=PRESETS["slow-5"])},
        embedders={"default": embedder},
        indexes={"default": index},
    )
    write(pipeline, "a", "hello", year=1)
    pipeline.deliver_new()
    pipeline.run("default/normal")
    assert row(pipeline, "a").progress.parked
    assert pipeline.queues.depth("default/normal") == 0

    write(pipeline, "a", "hello", year=2)
    pipeline.drain()

    assert embedder.requests == [["hello"]]
    assert row(pipeline, "a").status is Status.COMPLETED


def test_vectors_are_not_paid_again_by_a_requeue(embedder: FakeEmbedder) -> None:
    """R13: a person sent the document again while a run worked it, whose index write failed."""
    index = BrokenIndex(16)
    index.failures = 1
    pipeline = make_pipeline(embedders={"default": embedder}, indexes={"default": index})
    write(pipeline, "a", "hello")
    requeue = Requeue(pipeline.ledger, pipeline.queues, pipeline.telemetry, pipeline.clock)

    def requeue_once() -> None:
        embedder.meanwhile = lambda: None
        assert requeue.push(row(pipeline, "a").row_key, Lane.HIGH)

    embedder.meanwhile = requeue_once
    pipeline.drain()

    assert embedder.requests == [["hello"]]
    assert row(pipeline, "a").status is Status.COMPLETED


def test_copy_of_a_task_in_work_is_not_paid(embedder: FakeEmbedder) -> None:
    """R13: two runs at once with one version; the second one leaves it to the first."""
    pipeline = make_pipeline(embedders={"default": embedder})
    other = pipeline.new_worker(make_target())
    write(pipeline, "a", "hello")

    def work_a_copy() -> None:
        embedder.meanwhile = lambda: None
        body = row(pipeline, "a").task.to_json()
        pipeline.queues.put("default/bulk", body, group=None, deduplication_id=None)
        copies = pipeline.queues.receive("default/bulk", 10)
        assert other.process(copies, pipeline.seconds_left()) == []
        pipeline.queues.acknowledge(copies[0])

    embedder.meanwhile = work_a_copy
    pipeline.drain()

    assert embedder.requests == [["hello"]]
    assert row(pipeline, "a").status is Status.COMPLETED


def test_vectors_are_not_paid_again_when_another_request_fails(
    embedder: FakeEmbedder,
) -> None:
    """R13: a document over two requests, of which the second fails, pays for the second."""
    pipeline = make_pipeline(
        target={"chunk_tokens": 60, "tokens_per_request": 400}, embedders={"default": embedder}
    )
    write(pipeline, "a", "\n\n".join(PARAGRAPHS))

    original = embedder.embed
    calls = []

    def second_fails(texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        calls.append(len(texts))
        if len(calls) == 2:
            raise FailureError(Failure(FailureKind.PROVIDER_ERROR, "503"))
        return original(texts, timeout_seconds=timeout_seconds)

    embedder.embed = second_fails  # type: ignore[method-assign]

    pipeline.drain()

    paid = paid_texts(embedder)
    assert len(calls) > 2
    assert len(paid) == len(set(paid))
    assert row(pipeline, "a").status is Status.COMPLETED


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize(
    "policy",
    [
        RetrySettings(),
        RetrySettings(default=PRESETS["capped"].model_copy(update={"cap_seconds": 120.0})),
        RetrySettings(max_hide_seconds=900),
    ],
    ids=["standard", "capped at two minutes", "hidden for long"],
)
def test_document_that_kills_its_runs_takes_no_other_with_it(policy: RetrySettings) -> None:
    """R10 R31 R34: the nine others of its batch complete; it ends alone, with its reason.

    Whatever the settings: two crashes are free, then each one spends an attempt.
    """
    embedder = FakeEmbedder()
    embedder.by_word["deadly"] = Killed()
    pipeline = make_pipeline(
        target={"retry": policy.model_copy(update={"healing": Healing(hours=0)})},
        embedders={"default": embedder},
    )
    for number in range(5):
        write(pipeline, f"a-{number}", f"text number {number}")
    write(pipeline, "bad", "deadly")
    for number in range(4):
        write(pipeline, f"z-{number}", f"another text {number}")
    pipeline.deliver_new()

    crashes = 0
    for _ in range(20):
        try:
            pipeline.run("default/normal")
        except Killed:
            crashes += 1
        pipeline.sweep("due")
        # A crashed run is noticed thirty seconds after its own end.
        pipeline.clock.advance(RUN_SECONDS + 30)
    pipeline.drain()

    assert len(texts(pipeline)) == 9
    bad = row(pipeline, "bad")
    assert bad.status is Status.FAILED_MAX_RETRIES
    assert crashes == 2 + bad.progress.attempts == 2 + policy.default.max_attempts
    assert {
        row.progress.attempts
        for row in pipeline.ledger.rows.values()
        if row.task.document_id != "bad"
    } == {1}
    assert len(pipeline.queues.dead_letters()) == 1


@pytest.mark.parametrize("failures", [1, 3, 6])
def test_ledger_that_is_down_spends_no_attempt(failures: int) -> None:
    """R22 R31: the entry is written, its row cannot be: a later delivery completes it.

    From the third on it is worked alone, and still not taken for the cause of a crash.
    """

    class ShakyLedger(MemoryLedger):
        failures = 0

        def write(self, rows: Sequence[LedgerRow]) -> Swapped:
            if rows and rows[0].status is Status.COMPLETED and self.failures:
                self.failures -= 1
                raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "throttled"))
            return super().write(rows)

    ledger = ShakyLedger()
    ledger.failures = failures
    pipeline = make_pipeline(ledger=ledger)
    write(pipeline, "a", "hello")

    pipeline.drain()

    done = row(pipeline, "a")
    assert (done.status, done.progress.attempts, done.errors) == (Status.COMPLETED, 1, ())


def test_wrong_key_spends_no_attempt_and_opens_the_breaker(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R24 R25: one request finds out, the lanes stand still, and the key's owner mends it."""
    embedder.always = FailureError(Failure(FailureKind.CONFIGURATION, "401"))
    for number in range(30):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.deliver_new()
    pipeline.run("default/normal")

    for _ in range(60):
        pipeline.reconcile()
        pipeline.sweep("due")
        pipeline.run("default/normal")
        pipeline.clock.advance(60)

    rows = pipeline.ledger.rows.values()
    assert {row.progress.attempts for row in rows} == {0}
    assert {row.status for row in rows} == {Status.PENDING}
    assert pipeline.control.read("default").provider.state is Circuit.OPEN
    # A first try, and probes in steps of up to five minutes.
    assert embedder.asked < 30
    assert set(pipeline.queues.receive_counts()) <= {0}
    embedder.always = None
    pipeline.drain()
    assert len(texts(pipeline)) == 30
    assert pipeline.queues.dead_letters() == []


def test_ledger_that_is_down_for_hours_loses_nothing_and_spends_no_attempt() -> None:
    """R22 R31: deliveries are used slowly; no message becomes a dead letter without a reason."""

    class DownLedger(MemoryLedger):
        is_down = False

        def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
            if self.is_down:
                raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "down"))
            return super().read(keys)

    ledger = DownLedger()
    pipeline = make_pipeline(ledger=ledger)
    write(pipeline, "a", "hello")
    pipeline.deliver_new()
    ledger.is_down = True
    for _ in range(4 * 60):
        pipeline.run("default/normal")
        pipeline.clock.advance(60)
    ledger.is_down = False
    assert pipeline.queues.dead_letters() == []

    pipeline.drain()

    done = row(pipeline, "a")
    assert (done.status, done.progress.attempts) == (Status.COMPLETED, 1)


def test_events_that_are_refused_for_hours_lose_nothing() -> None:
    """R27 R31: the ledger says what each document waits for; none fails without a reason."""
    pipeline = make_pipeline()
    pipeline.announcer.refuses = 10_000
    for number in range(5):
        write(pipeline, f"{number}", f"text {number}")
    pipeline.deliver_new()
    for _ in range(3 * 60):
        pipeline.run("default/normal")
        pipeline.sweep("due")
        pipeline.clock.advance(60)
    rows = pipeline.ledger.rows.values()
    assert pipeline.queues.dead_letters() == []
    assert {row.errors[-1].kind for row in rows} == {"event_refused"}

    pipeline.announcer.refuses = 0
    pipeline.drain()

    assert {(row.status, row.progress.attempts) for row in rows} == {(Status.COMPLETED, 1)}
    assert pipeline.telemetry.metrics["ChunksPaid"] == 5
