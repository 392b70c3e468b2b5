"""Stories of poison, foreign messages and redrive, on the in-memory engines."""

from functions.core.ledger_row import Status
from local.memory.pipeline import MemoryPipeline
from tests.flow.stories import row, texts, write


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
    assert (failed.status, failed.outcome.reason) == (Status.FAILED, "invalid_input: 400")


def test_redriven_document_completes_once_its_cause_is_gone(pipeline: MemoryPipeline) -> None:
    """R20 R41: attempts of a redriven dead letter start again."""
    write(pipeline, "a", "poison")
    pipeline.drain()
    pipeline.tables["articles"].items.clear()
    write(pipeline, "a", "cured")
    pipeline.clock.advance(60)

    pipeline.queues.redrive()
    pipeline.run("default/normal")

    assert texts(pipeline) == {"a": "cured"}
    assert row(pipeline, "a").progress.attempts == 1


def test_poison_document_touched_again_makes_no_second_dead_letter(
    pipeline: MemoryPipeline,
) -> None:
    """R24: the same text is nothing new."""
    for views in range(3):
        write(pipeline, "a", "poison", views=views)
        pipeline.drain()

    assert len(pipeline.queues.dead_letters()) == 1


def test_foreign_message_goes_to_the_dead_letters_and_harms_no_other(
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
