"""Stories of writes and edits through the whole flow, on the in-memory engines."""

from functions.core.entry import Entry
from functions.core.ledger_row import Status
from functions.core.ports import NO_KEY
from local.memory.index import HashedEmbedder
from local.memory.pipeline import MemoryPipeline
from tests.builders import changed, make_pipeline
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import PARAGRAPHS, paid_texts, row, texts, write


def test_write_is_found(pipeline: MemoryPipeline) -> None:
    """R03 R12 R28: a write ends as an entry; the ledger tells its life."""
    write(pipeline, "a", "hello world", year=2026)

    pipeline.drain()

    [vector] = HashedEmbedder(16).embed(["hello"], timeout_seconds=1).vectors
    [hit] = pipeline.indexes["default"].search(vector, metadata={"year": 2026})
    assert (hit.document_id, hit.text) == ("a", "hello world")
    done = row(pipeline, "a")
    assert (done.status, done.indexed.chunks_total, done.indexed.chunks_done) == (
        Status.COMPLETED,
        1,
        1,
    )
    assert (done.progress.attempts, done.indexed.tokens, done.indexed.model) == (
        1,
        2,
        "text-embedding-3-small",
    )


def test_a_b_a_within_a_second_ends_at_a(pipeline: MemoryPipeline) -> None:
    """R04: three versions, none lost."""
    for text in ("A", "B", "A"):
        write(pipeline, "a", text)
        pipeline.deliver_new()
        pipeline.clock.advance(0.1)

    pipeline.drain()

    assert texts(pipeline) == {"a": "A"}
    assert pipeline.telemetry.metrics["ChangesAccepted"] == 3


def test_superseded_tasks_cost_no_request(pipeline: MemoryPipeline, embedder: FakeEmbedder) -> None:
    """R05: three versions in the lane are one request."""
    for text in ("one", "two", "three"):
        write(pipeline, "a", text)
        pipeline.deliver_new()

    pipeline.drain()

    assert embedder.requests == [["three"]]
    assert pipeline.telemetry.metrics["TasksSuperseded"] == 2


def test_metadata_alone_costs_no_request(pipeline: MemoryPipeline, embedder: FakeEmbedder) -> None:
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
    version = row(pipeline, "a").task.version
    write(pipeline, "a", "hello", views=2)

    pipeline.drain()

    assert row(pipeline, "a").task.version == version
    assert pipeline.telemetry.metrics["ChangesUnchanged"] == 1


def test_edit_of_one_paragraph_pays_for_that_paragraph(
    pipeline: MemoryPipeline, embedder: FakeEmbedder
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
    pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R09: one vector, two entries."""
    write(pipeline, "a", "same words")
    write(pipeline, "b", "same words")

    pipeline.drain()

    assert embedder.requests == [["same words"]]
    assert texts(pipeline) == {"a": "same words", "b": "same words"}


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


def test_every_step_is_logged_with_document_version_and_attempt(pipeline: MemoryPipeline) -> None:
    """R63: ids and numbers; never the text."""
    write(pipeline, "a", "secret words")

    pipeline.drain()

    names = [name for name, _ in pipeline.telemetry.events]
    assert names == ["change_accepted", "task_started", "task_completed"]
    assert all(fields["document_id"] == "a" for _, fields in pipeline.telemetry.events)
    assert {fields["version"] for _, fields in pipeline.telemetry.events} == {
        row(pipeline, "a").task.version
    }
    assert pipeline.telemetry.events[-1][1]["attempt"] == 1
    assert "secret" not in str(pipeline.telemetry.events)


def test_document_of_a_replaced_table_is_read_by_its_new_key() -> None:
    """R02 R07: the key attribute has another name, the document the same id: it is not deleted."""
    before = make_pipeline()
    write(before, "a", "hello")
    before.drain()
    after = make_pipeline(source={"key": ("pk",)}, ledger=before.ledger, indexes=before.indexes)
    after.clock.advance(1)

    after.tables["articles"].put({"pk": "a", "body": "hello again"})
    # The stream of another table.
    for record in after.tables["articles"].stream:
        record["eventSourceARN"] += "-of-the-new-table"
    after.drain()

    assert texts(after) == {"a": "hello again"}
    assert row(after, "a").status is Status.COMPLETED


def test_key_that_the_table_refuses_fails_its_document_alone() -> None:
    """R07 R10: with a reason, and without a tombstone; the others of its batch complete."""
    pipeline = make_pipeline()
    write(pipeline, "a", "hello")
    write(pipeline, "b", "more")
    pipeline.deliver_new()
    [old] = [row for row in pipeline.ledger.rows.values() if row.task.document_id == "a"]
    pipeline.ledger.write([changed(old, key={"id": {"N": "1"}})])

    pipeline.drain()

    assert texts(pipeline) == {"b": "more"}
    refused = row(pipeline, "a")
    assert (refused.status, refused.outcome.reason) == (
        Status.FAILED,
        f"{NO_KEY.kind}: {NO_KEY.message}",
    )
    assert len(pipeline.queues.dead_letters()) == 1
