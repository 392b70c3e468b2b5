"""Dead letters that a restart of the local queues has lost: made again from the ledger."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from functions.adapters.sqs_tasks import SqsTasks
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.task import parse_task
from local.memory.ledger import MemoryLedger
from local.recovery import bring_dead_letters_back
from tests.builders import make_row, make_task
from tests.contract.engines import aws_client, real
from tests.contract.queue_engines import LANES, TARGET, SqsEngine

# More than one call sends or receives.
COUNT = 12


@pytest.fixture(params=[real("elasticmq")])
def engine(request: pytest.FixtureRequest) -> Iterator[SqsEngine]:
    with aws_client(request, "sqs", engine=request.param, fixture="sqs_url") as sqs:
        yield SqsEngine(sqs)


def row(name: str, lane: Lane, status: Status) -> LedgerRow:
    task = make_task(document_id=DocumentId(name), key={"id": {"S": name}}, lane=lane)
    return replace(make_row(), task=task, status=status, revision=0)


@pytest.mark.parametrize("lane", LANES)
def test_every_document_that_was_given_up_has_its_dead_letter(
    engine: SqsEngine, lane: Lane
) -> None:
    """R41 R82: one each, from its lane, which is empty; a completed one has none."""
    ledger = MemoryLedger()
    given_up = [row(f"bad-{number}", lane, Status.FAILED) for number in range(COUNT)]
    ledger.write([*given_up, row("good", lane, Status.COMPLETED)])
    urls = {TARGET: {str(lane): url for lane, url in engine.urls.items()}}

    assert bring_dead_letters_back(ledger, engine.tasks, engine.sqs, urls) == (COUNT, COUNT)

    found = []
    while letters := engine.sqs.receive_message(
        QueueUrl=engine.dead_urls[lane],
        MaxNumberOfMessages=10,
        MessageSystemAttributeNames=["DeadLetterQueueSourceArn"],
    ).get("Messages"):
        found += letters
    assert {parse_task(letter["Body"]).document_id for letter in found} == {
        one.task.document_id for one in given_up
    }
    assert len(found) == COUNT
    assert {letter["Attributes"]["DeadLetterQueueSourceArn"] for letter in found} == {
        engine.arn(engine.urls[lane])
    }
    assert engine.tasks.waiting(TARGET) == dict.fromkeys(map(str, LANES), 0)


def test_dead_letter_that_does_not_move_holds_the_start_of_a_stack_for_its_time_only(
    engine: SqsEngine,
) -> None:
    """R82: a lane without a redrive policy keeps its message; the count says so."""
    ledger = MemoryLedger()
    ledger.write([row("bad", Lane.BULK, Status.FAILED)])
    lane = engine.sqs.create_queue(QueueName="no-redrive.fifo", Attributes={"FifoQueue": "true"})
    urls = {TARGET: {"bulk": lane["QueueUrl"]}}

    moved = bring_dead_letters_back(
        ledger, SqsTasks(engine.sqs, urls), engine.sqs, urls, seconds=0.5
    )

    assert moved == (0, 1)
