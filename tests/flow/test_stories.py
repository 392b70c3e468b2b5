"""Stories of single documents through the whole flow, on the in-memory engines."""

from collections.abc import Sequence
from contextlib import suppress

import pytest

from functions.core.entry import Entry, Tombstone, WriteResult
from functions.core.failure import Failure, FailureError, FailureKind, RefusedRequestError
from functions.core.identity import EntryId
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Embedded, Swapped
from local.memory.embedder import HashedEmbedder
from local.memory.index import MemoryIndex
from local.memory.ledger import MemoryLedger
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline, make_source, make_target

PARAGRAPHS = [f"Paragraph {n} tells about subject {n * 31}. " * 6 for n in range(12)]


class TroubledEmbedder(HashedEmbedder):
    """Fails as it is told to, before it counts a request as paid."""

    def __init__(self, dimensions: int = 16) -> None:
        super().__init__(dimensions)
        self.failures: list[Failure] = []

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        if any("poison" in text for text in texts):
            raise RefusedRequestError(Failure(FailureKind.INVALID_INPUT, "400"))
        if self.failures:
            raise FailureError(self.failures.pop(0))
        return super().embed(texts, timeout_seconds=timeout_seconds)


@pytest.fixture
def embedder() -> TroubledEmbedder:
    return TroubledEmbedder()


@pytest.fixture
def pipeline(embedder: TroubledEmbedder) -> MemoryPipeline:
    return make_pipeline(
        source={"metadata": {"year": "long"}, "skip_attribute": "hidden"},
        target={"chunk_tokens": 60},
        embedders={"default": embedder},
    )


def write(pipeline: MemoryPipeline, name: str, body: str, **rest: object) -> None:
    pipeline.tables["articles"].put({"id": name, "body": body, **rest})


def row(pipeline: MemoryPipeline, name: str) -> LedgerRow:
    found = pipeline.row(name, source="articles")
    assert found is not None
    return found


def texts(pipeline: MemoryPipeline) -> dict[str, str]:
    return {
        entry.document_id: " ".join(chunk.text for chunk in entry.chunks)
        for entry in pipeline.indexes["default"].entries.values()
        if isinstance(entry, Entry)
    }


def paid_texts(embedder: HashedEmbedder) -> list[str]:
    return [text for request in embedder.requests for text in request]


def test_write_is_found(pipeline: MemoryPipeline) -> None:
    """R03 R12 R28: a write ends as an entry; the ledger tells its life."""
    write(pipeline, "a", "hello world", year=2026)

    pipeline.drain()

    [vector] = HashedEmbedder(16).embed(["hello"], timeout_seconds=1).vectors
    [hit] = pipeline.indexes["default"].search(vector, metadata={"year": 2026})
    assert (hit.document_id, hit.text) == ("a", "hello world")
    done = row(pipeline, "a")
    assert (done.status, done.chunks_total, done.chunks_done) == (Status.COMPLETED, 1, 1)
    assert (done.attempts, done.tokens, done.model) == (1, 2, "text-embedding-3-small")


def test_a_b_a_within_a_second_ends_at_a(pipeline: MemoryPipeline) -> None:
    """R04: three versions, none lost."""
    for text in ("A", "B", "A"):
        write(pipeline, "a", text)
        pipeline.deliver_new()
        pipeline.clock.advance(0.1)

    pipeline.drain()

    assert texts(pipeline) == {"a": "A"}
    assert pipeline.telemetry.metrics["ChangesAccepted"] == 3


def test_superseded_tasks_cost_no_request(
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
) -> None:
    """R05: three versions in the lane are one request."""
    for text in ("one", "two", "three"):
        write(pipeline, "a", text)
        pipeline.deliver_new()

    pipeline.drain()

    assert embedder.requests == [["three"]]
    assert pipeline.telemetry.metrics["TasksSuperseded"] == 2


def test_metadata_alone_costs_no_request(
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
) -> None:
    """R06: the entry is rewritten with the vectors that it has."""
    write(pipeline, "a", "hello", year=2025)
    pipeline.drain()
    write(pipeline, "a", "hello", year=2026)

    pipeline.drain()

    [entry] = pipeline.indexes["default"].entries.values()
    assert isinstance(entry, Entry)
    assert entry.metadata == {"year": 2026}
    assert len(embedder.requests) == 1


def test_attribute_that_is_not_shown_changes_nothing(pipeline: MemoryPipeline) -> None:
    """R06: no task at all."""
    write(pipeline, "a", "hello", views=1)
    pipeline.drain()
    version = row(pipeline, "a").version
    write(pipeline, "a", "hello", views=2)

    pipeline.drain()

    assert row(pipeline, "a").version == version
    assert pipeline.telemetry.metrics["ChangesUnchanged"] == 1


def test_edit_of_one_paragraph_pays_for_that_paragraph(
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
) -> None:
    """R06: only the changed chunks are embedded."""
    write(pipeline, "a", "\n\n".join(PARAGRAPHS))
    pipeline.drain()
    whole = len(paid_texts(embedder))
    embedder.requests.clear()
    edited = [*PARAGRAPHS[:5], "This one is new. " * 8, *PARAGRAPHS[6:]]
    write(pipeline, "a", "\n\n".join(edited))

    pipeline.drain()

    assert whole >= 10
    assert len(paid_texts(embedder)) == 1


def test_equal_texts_of_two_documents_are_paid_once(
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
) -> None:
    """R09: one vector, two entries."""
    write(pipeline, "a", "same words")
    write(pipeline, "b", "same words")

    pipeline.drain()

    assert embedder.requests == [["same words"]]
    assert texts(pipeline) == {"a": "same words", "b": "same words"}


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
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
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
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
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


def test_poison_document_fails_alone_and_reaches_the_dead_letters(
    pipeline: MemoryPipeline,
) -> None:
    """R10 R24: nine of ten complete in the same invocation; one dead letter with its reason."""
    for number in range(9):
        write(pipeline, f"good-{number}", f"text number {number}")
    write(pipeline, "bad", "poison")
    pipeline.deliver_new()

    pipeline.run("default/normal")

    assert len(texts(pipeline)) == 9
    pipeline.drain()
    [letter] = pipeline.queues.dead_letters()
    assert '"document_id":"bad"' in letter
    failed = row(pipeline, "bad")
    assert (failed.status, failed.reason) == (Status.FAILED, "invalid_input: 400")


def test_redriven_document_completes_once_its_cause_is_gone(pipeline: MemoryPipeline) -> None:
    """R20 R41: a dead letter comes back as a new life."""
    write(pipeline, "a", "poison")
    pipeline.drain()
    pipeline.tables["articles"].items.clear()
    write(pipeline, "a", "cured")
    pipeline.clock.advance(60)

    pipeline.queues.redrive()
    pipeline.run("default/normal")

    assert texts(pipeline) == {"a": "cured"}
    assert row(pipeline, "a").attempts == 1


def test_poison_document_touched_again_makes_no_second_dead_letter(
    pipeline: MemoryPipeline,
) -> None:
    """R24: the same text is nothing new."""
    for views in range(3):
        write(pipeline, "a", "poison", views=views)
        pipeline.drain()

    assert len(pipeline.queues.dead_letters()) == 1


def test_failure_backs_off_and_recovers(
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
) -> None:
    """R20 R28: two failures, then success; both stand in the history."""
    embedder.failures = [
        Failure(FailureKind.TIMEOUT, "no answer"),
        Failure(FailureKind.PROVIDER_ERROR, "503"),
    ]
    write(pipeline, "a", "hello")

    pipeline.drain()

    done = row(pipeline, "a")
    assert (done.status, done.attempts) == (Status.COMPLETED, 3)
    assert [error.kind for error in done.errors] == ["timeout", "provider_error"]


def test_hopeless_document_ends_in_the_dead_letters(
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
) -> None:
    """R20 R27: five attempts, then SQS's own redrive."""
    embedder.failures = [Failure(FailureKind.PROVIDER_ERROR, "503")] * 100
    write(pipeline, "a", "hello")

    pipeline.drain()

    failed = row(pipeline, "a")
    assert (failed.status, failed.attempts) == (Status.FAILED_MAX_RETRIES, 5)
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


def test_vectors_are_not_paid_again_when_the_index_fails(embedder: TroubledEmbedder) -> None:
    """R13: the retry takes them from the stash."""
    index = BrokenIndex(16)
    index.failures = 2
    pipeline = make_pipeline(embedders={"default": embedder}, indexes={"default": index})
    write(pipeline, "a", "hello")

    pipeline.drain()

    assert embedder.requests == [["hello"]]
    assert texts(pipeline) == {"a": "hello"}


def test_vectors_are_not_paid_again_when_another_request_fails(
    embedder: TroubledEmbedder,
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


def test_document_with_too_many_chunks_fails_with_its_reason(embedder: TroubledEmbedder) -> None:
    """R11 R24: the configured ceiling is a permanent failure, before anything is paid."""
    pipeline = make_pipeline(
        target={"chunk_tokens": 60, "max_chunks": 3}, embedders={"default": embedder}
    )
    write(pipeline, "a", "\n\n".join(PARAGRAPHS))

    pipeline.drain()

    failed = row(pipeline, "a")
    assert failed.status is Status.FAILED
    assert "chunks, target default allows 3 (max_chunks)" in (failed.reason or "")
    assert embedder.requests == []


def test_foreign_message_goes_to_the_dead_letters_and_harms_nobody(
    pipeline: MemoryPipeline,
) -> None:
    """R10: logged once, with its message id."""
    write(pipeline, "a", "hello")
    pipeline.deliver_new()
    pipeline.queues.put("default/normal", "not ours", group="x", deduplication_id="x")

    pipeline.drain()

    assert texts(pipeline) == {"a": "hello"}
    assert pipeline.queues.dead_letters() == ["not ours"]
    logged = [fields for name, fields in pipeline.telemetry.events if name == "message_malformed"]
    assert [fields["message_id"] for fields in logged] == ["message-2"]


def test_one_targets_trouble_does_not_stop_another() -> None:
    """R14: each target has its own lanes and provider."""
    broken = TroubledEmbedder()
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
    assert (bad.status, bad.attempts) == (Status.PENDING, 0)


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
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
) -> None:
    """R09 R31: no round starts without the time to finish."""
    write(pipeline, "a", "hello")
    pipeline.deliver_new()

    pipeline.run("default/normal", seconds=5)

    assert embedder.requests == []
    assert row(pipeline, "a").attempts == 0
    pipeline.drain()
    assert texts(pipeline) == {"a": "hello"}


def test_every_step_is_told_with_document_version_and_attempt(pipeline: MemoryPipeline) -> None:
    """R63: ids and numbers; never the text."""
    write(pipeline, "a", "secret words")

    pipeline.drain()

    names = [name for name, _ in pipeline.telemetry.events]
    assert names == ["change_accepted", "task_started", "task_completed"]
    assert all(fields["document_id"] == "a" for _, fields in pipeline.telemetry.events)
    assert {fields["version"] for _, fields in pipeline.telemetry.events} == {
        row(pipeline, "a").version
    }
    assert pipeline.telemetry.events[-1][1]["attempt"] == 1
    assert "secret" not in str(pipeline.telemetry.events)


class Killed(BaseException):
    """The process is gone."""


def test_document_that_kills_its_runs_takes_no_other_with_it() -> None:
    """R10 R31: the nine others of its batch complete; it ends alone, with its reason."""

    class DeadlyEmbedder(HashedEmbedder):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            if any("deadly" in text for text in texts):
                raise Killed
            return super().embed(texts, timeout_seconds=timeout_seconds)

    pipeline = make_pipeline(embedders={"default": DeadlyEmbedder(16)})
    for number in range(5):
        write(pipeline, f"a-{number}", f"text number {number}")
    write(pipeline, "bad", "deadly")
    for number in range(4):
        write(pipeline, f"z-{number}", f"another text {number}")
    pipeline.deliver_new()

    for _ in range(12):
        with suppress(Killed):
            pipeline.run("default/normal")
        pipeline.clock.advance(1000)
    pipeline.drain()

    assert len(texts(pipeline)) == 9
    assert row(pipeline, "bad").status is Status.FAILED_MAX_RETRIES
    assert {row.attempts for row in pipeline.ledger.rows.values() if row.document_id != "bad"} == {
        2
    }
    assert len(pipeline.queues.dead_letters()) == 1


def test_ledger_that_is_down_charges_nobody() -> None:
    """R22 R31: the entry is written, its row cannot be: the next delivery completes it."""

    class ShakyLedger(MemoryLedger):
        failures = 0

        def write(self, rows: Sequence[LedgerRow]) -> Swapped:
            if rows and rows[0].status is Status.COMPLETED and self.failures:
                self.failures -= 1
                raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "throttled"))
            return super().write(rows)

    ledger = ShakyLedger()
    ledger.failures = 3
    pipeline = make_pipeline(ledger=ledger)
    write(pipeline, "a", "hello")

    pipeline.drain(advance_seconds=30)

    done = row(pipeline, "a")
    assert (done.status, done.attempts, done.errors) == (Status.COMPLETED, 1, ())


def test_missing_key_explains_every_dead_letter(
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
) -> None:
    """R24: nobody is charged for ten deliveries over minutes, and the ledger tells the reason."""
    embedder.failures = [Failure(FailureKind.CONFIGURATION, "the secret is empty")] * 100
    write(pipeline, "a", "hello")
    began_ms = pipeline.clock()

    pipeline.drain(advance_seconds=1)

    failed = row(pipeline, "a")
    assert (failed.status, failed.attempts) == (Status.FAILED_MAX_RETRIES, 0)
    assert "configuration: the secret is empty" in (failed.reason or "")
    assert pipeline.clock() - began_ms > 4 * 60_000
    embedder.failures = []
    pipeline.clock.advance(60)
    pipeline.queues.redrive()
    pipeline.drain()
    assert texts(pipeline) == {"a": "hello"}


@pytest.mark.parametrize(
    "text",
    [
        "нет войне " * 21_000,
        "漢字かな交じり文。" * 14_000,
        "👩‍👩‍👧 " * 20_000,
        "\x01\x02 " * 130_000,
        "x" * 390_000,
    ],
    ids=["cyrillic", "cjk", "emoji", "control", "one word"],
)
def test_largest_item_of_any_script_is_indexed(text: str) -> None:
    """R11: some 390 KB, split over requests, one entry."""
    pipeline = make_pipeline()
    write(pipeline, "a", text)

    pipeline.drain()

    done = row(pipeline, "a")
    assert (done.status, done.chunks_failed) == (Status.COMPLETED, 0)
    assert done.chunks_done == done.chunks_total > 100


def test_entry_too_large_for_the_index_is_refused_before_it_is_paid(
    embedder: TroubledEmbedder,
) -> None:
    """R11 R24: OpenSearch would refuse the body, every time."""
    pipeline = make_pipeline(
        target={"chunk_tokens": 60, "max_chunks": 5000, "max_entry_mb": 1},
        embedders={"default": embedder},
    )
    write(pipeline, "a", "\n\n".join(PARAGRAPHS * 200))

    pipeline.drain()

    failed = row(pipeline, "a")
    assert failed.status is Status.FAILED
    assert "(max_entry_mb): shorten the text" in (failed.reason or "")
    assert embedder.requests == []


def test_another_index_makes_every_document_new() -> None:
    """R06: unchanged in one index is missing in another."""
    pipeline = make_pipeline()
    write(pipeline, "a", "hello", views=1)
    pipeline.drain()
    moved = make_pipeline(target={"index": "another"}, ledger=pipeline.ledger)
    moved.clock.advance(60)
    moved.tables["articles"].stream.extend(pipeline.tables["articles"].stream)
    moved.tables["articles"].put({"id": "a", "body": "hello", "views": 2})
    moved.deliver(
        [
            record | {"dynamodb": record["dynamodb"] | {"SequenceNumber": "9" * 21}}
            for record in moved.tables["articles"].stream[-1:]
        ]
    )

    moved.run("default/normal")

    assert texts(moved) == {"a": "hello"}


def test_failing_embedding_never_touches_the_document(
    pipeline: MemoryPipeline, embedder: TroubledEmbedder
) -> None:
    """R03: the table holds just what the application wrote."""
    embedder.failures = [Failure(FailureKind.PROVIDER_ERROR, "503")] * 100
    write(pipeline, "a", "hello", year=1)
    before = dict(pipeline.tables["articles"].items)

    pipeline.drain()

    assert pipeline.tables["articles"].items == before
    assert len(pipeline.tables["articles"].stream) == 1
