"""Where an engine differs from AWS, seen: a row of docs/engine-differences.md that no longer holds
fails here, and the workaround behind it can go."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.dynamodb.models import DynamoDBBackend

from functions.core.lane import Lane
from tests.builders import make_row, make_task
from tests.contract.engines import client, engine_url
from tests.contract.ledger_engines import ledger_table
from tests.contract.queue_engines import MAX_RECEIVES, SqsEngine
from tests.moto_statements import OWN
from tests.repo.checkout import ROOT


@pytest.fixture
def elasticmq(request: pytest.FixtureRequest) -> SqsEngine:
    return SqsEngine(client("sqs", engine_url(request, "sqs_url")))


@pytest.fixture
def moto_queues() -> Iterator[SqsEngine]:
    with mock_aws():
        yield SqsEngine(client("sqs"))


def make_dead_letter(engine: SqsEngine, lane: Lane) -> str:
    """Send a task, receive it until it is a dead letter, and return its message id."""
    engine.tasks.send([make_task(lane=lane)])
    for _ in range(MAX_RECEIVES):
        [message] = engine.receive(lane)
        engine.tasks.hide([(message, 0)])
    assert engine.receive(lane) == []
    return message.message_id


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_elasticmq_moves_no_fifo_dead_letter(elasticmq: SqsEngine) -> None:
    """R41: so one-machine mode moves them itself."""
    make_dead_letter(elasticmq, Lane.NORMAL)

    elasticmq.redrive(Lane.NORMAL)

    assert elasticmq.receive(Lane.NORMAL) == []
    assert len(elasticmq.dead_letters(Lane.NORMAL)) == 1


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_elasticmq_keeps_the_id_of_a_redriven_message(elasticmq: SqsEngine) -> None:
    """R20: so a redrive is known by its time of sending, which is new there too."""
    dead = make_dead_letter(elasticmq, Lane.BULK)

    elasticmq.redrive(Lane.BULK)

    [redriven] = elasticmq.receive_after(Lane.BULK, seconds=1)
    assert redriven.message_id == dead


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_elasticmq_deduplicates_over_the_queue_when_asked_for_groups(
    elasticmq: SqsEngine,
) -> None:
    """R04: so deduplication ids are unique over the whole queue."""
    scope = {"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
    url = elasticmq.sqs.create_queue(
        QueueName=f"{uuid4()}.fifo", Attributes={"FifoQueue": "true", **scope}
    )["QueueUrl"]
    for group in "ab":
        elasticmq.sqs.send_message(
            QueueUrl=url, MessageBody=group, MessageGroupId=group, MessageDeduplicationId="same"
        )

    received = elasticmq.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [message["Body"] for message in received] == ["a"]


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_elasticmq_takes_a_visibility_beyond_twelve_hours(elasticmq: SqsEngine) -> None:
    """R20: so the limit is kept by our own policy."""
    elasticmq.tasks.send([make_task()])
    [message] = elasticmq.receive(Lane.NORMAL)
    for _ in range(2):
        elasticmq.sqs.change_message_visibility(
            QueueUrl=elasticmq.urls[Lane.NORMAL],
            ReceiptHandle=message.receipt_handle,
            VisibilityTimeout=43_200,
        )


def test_moto_forgets_a_deduplication_id_with_its_message(moto_queues: SqsEngine) -> None:
    """R04: so it is no engine for the promises of FIFO."""
    moto_queues.tasks.send([make_task()])
    [message] = moto_queues.receive(Lane.NORMAL)
    moto_queues.acknowledge(message)

    moto_queues.tasks.send([make_task()])

    assert len(moto_queues.receive(Lane.NORMAL)) == 1


def test_moto_has_no_move_task(moto_queues: SqsEngine) -> None:
    """R41: so redrive is not tested there."""
    with pytest.raises((ClientError, NotImplementedError)):
        moto_queues.redrive(Lane.BULK)


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_dynamodb_local_deletes_nothing_by_time_to_live(request: pytest.FixtureRequest) -> None:
    """R46: so expiry is a delete that a test makes."""
    with ledger_table(request, "dynamodb-local") as table:
        table.client.update_time_to_live(
            TableName=table.name,
            TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"},
        )
        row = make_row(expires_at=1, revision=0)

        table.ledger.write([row])

        assert row.row_key in table.ledger.read([row.row_key])


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_dynamodb_local_does_not_say_what_a_statement_is_billed(
    request: pytest.FixtureRequest,
) -> None:
    """R50: so a statement is counted as the UpdateItem that it is."""
    with ledger_table(request, "dynamodb-local") as table:
        statement = f'UPDATE "{table.name}" SET "a"=1 WHERE row_key=?'
        table.client.put_item(TableName=table.name, Item={"row_key": {"S": "a"}})

        answer = table.client.batch_execute_statement(
            Statements=[{"Statement": statement, "Parameters": [{"S": "a"}]}],
            ReturnConsumedCapacity="INDEXES",
        )

    assert "Error" not in answer["Responses"][0]
    assert "ConsumedCapacity" not in answer


def test_moto_gives_no_error_where_the_condition_of_a_statement_is_not_met(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R28: so tests/moto_statements.py stands in for it."""
    monkeypatch.setattr(DynamoDBBackend, "batch_execute_statement", OWN)
    with ledger_table(request, "moto") as table:
        row = make_row(revision=0)
        table.ledger.write([row])
        statement = f'UPDATE "{table.name}" SET "type"=? WHERE row_key=? AND revision=?'
        values = [{"S": "b"}, {"S": row.row_key}, {"N": "7"}]

        [answer] = table.client.batch_execute_statement(
            Statements=[{"Statement": statement, "Parameters": values}]
        )["Responses"]

    assert "Error" not in answer


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_dynamodb_local_names_another_region_in_its_arns(request: pytest.FixtureRequest) -> None:
    """R02: so a source is found by its table's name, not by its ARN."""
    dynamodb = client("dynamodb", engine_url(request, "dynamodb_url"))
    table = dynamodb.create_table(
        TableName=f"named-{uuid4()}",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )["TableDescription"]

    assert table["TableArn"].split(":")[3] == "ddblocal"


@pytest.mark.parametrize("engine", ["DynamoDB Local", "ElasticMQ", "OpenSearch", "moto", "memory"])
def test_every_engine_has_its_table_of_differences(engine: str) -> None:
    """R82: written down, with the reason and what embedq does about it."""
    text = (ROOT / "docs" / "engine-differences.md").read_text()

    assert f"\n## {engine}" in text
