"""A deployment whose tables and queues are moto's."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.core.lane import lanes_of
from ops.deployment import Deployment
from tests.builders import make_source, make_target
from tests.ledger_table import create_ledger_table

REGION = "us-east-1"
# Sources beside the articles, and the types of their keys.
OTHER_SOURCES = {
    "numbers": {"id": "N"},
    "files": {"id": "B"},
    "messages": {"conversation": "S", "number": "N"},
}


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


@pytest.fixture
def several(deployment: Deployment) -> Deployment:
    """Return the same deployment with a source for each kind of key."""
    outputs = dict(deployment.outputs)
    for name, key in OTHER_SOURCES.items():
        source = make_source(name=name, table=f"{name}-table", key=tuple(key))
        _create_table(deployment.dynamodb, source.table, key)
        outputs[f"Source{name.capitalize()}Settings"] = source.model_dump_json()
    return replace(deployment, outputs=outputs)


def _create_tables(session: boto3.Session) -> None:
    dynamodb = session.client("dynamodb")
    _create_table(dynamodb, make_source().table, {"id": "S"})
    create_ledger_table(dynamodb, "ledger")


def _create_table(dynamodb: Any, table: str, key: Mapping[str, str]) -> None:
    dynamodb.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[
            {"AttributeName": name, "KeyType": kind}
            for name, kind in zip(key, ("HASH", "RANGE"), strict=False)
        ],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind} for name, kind in key.items()
        ],
    )
