"""A deployment whose tables and queues are moto's."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.core.lane import lanes_of
from ops.deployment import Deployment
from tests.builders import make_source, make_target
from tests.ledger_table import create_ledger_table

REGION = "us-east-1"


@pytest.fixture
def deployment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Return one source, one target, a ledger, lanes and dead letters."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        session = boto3.Session(region_name=REGION)
        _create_tables(session)
        sqs = session.client("sqs")
        fifo = sqs.create_queue(QueueName="dead.fifo", Attributes={"FifoQueue": "true"})
        standard = sqs.create_queue(QueueName="dead")
        outputs = {
            "SourceArticlesSettings": make_source().model_dump_json(),
            "TargetDefaultSettings": make_target().model_dump_json(),
            "LedgerTable": "ledger",
            "TargetDefaultDeadLettersFifoUrl": fifo["QueueUrl"],
            "TargetDefaultDeadLettersStandardUrl": standard["QueueUrl"],
        }
        for lane, _ in lanes_of([]):
            fifo_only: Any = {"FifoQueue": "true"} if lane.is_fifo else {}
            name = f"{lane}.fifo" if lane.is_fifo else str(lane)
            queue = sqs.create_queue(QueueName=name, Attributes=fifo_only)
            outputs[f"TargetDefaultLane{lane.capitalize()}Url"] = queue["QueueUrl"]
        yield Deployment(outputs, session)


def _create_tables(session: boto3.Session) -> None:
    dynamodb = session.client("dynamodb")
    dynamodb.create_table(
        TableName=make_source().table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )
    create_ledger_table(dynamodb, "ledger")
