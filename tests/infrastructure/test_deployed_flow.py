"""A change through the deployed resources: table, stream, lane, index."""

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.infrastructure.deployment import Deployed

pytestmark = pytest.mark.deploy


class Context:
    """A function that has a minute left."""

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@pytest.fixture
def run(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a way to start a deployed function cold, with its environment, and call it."""

    def call(output: str, records: list[dict[str, Any]]) -> Any:
        name = deployed.outputs[output]
        function = deployed.client("lambda").get_function_configuration(FunctionName=name)
        variables = {**deployed.environment, **deployed.function_environment(output)}
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value)
        module, _, handler = function["Handler"].rpartition(".")
        monkeypatch.delitem(sys.modules, module, raising=False)
        return getattr(importlib.import_module(module), handler)({"Records": records}, Context())

    return call


def stream_records(deployed: Deployed) -> list[dict[str, Any]]:
    """Read the source's stream from its beginning, as Lambda hands it on."""
    streams = deployed.client("dynamodbstreams")
    arn = deployed.outputs["SourceArticlesStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    records: list[dict[str, Any]] = streams.get_records(ShardIterator=iterator)["Records"]
    for record in records:
        record["eventSourceARN"] = arn
        moment = record["dynamodb"]["ApproximateCreationDateTime"]
        record["dynamodb"]["ApproximateCreationDateTime"] = moment.timestamp()
    return records


def tasks(deployed: Deployed, lane: str) -> list[dict[str, Any]]:
    """Receive the tasks of a lane, as Lambda hands them on."""
    url = deployed.outputs[f"TargetDefaultLane{lane}Url"]
    sqs = deployed.client("sqs")
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    messages = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
    ).get("Messages", [])
    return [
        {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message["Attributes"],
            "eventSourceARN": arn["QueueArn"],
        }
        for message in messages
    ]


def test_written_item_becomes_an_entry(deployed: Deployed, run: Callable[..., Any]) -> None:
    """R83: put an item; the deployed names alone lead it to the index."""
    deployed.client("dynamodb").put_item(
        TableName=deployed.outputs["SourceArticlesTable"],
        Item={
            "id": {"S": "a"},
            "title": {"S": "Tides"},
            "body": {"S": "The moon pulls the sea."},
            "author": {"S": "Ada"},
        },
    )

    enqueued = run("EnqueueFunction", stream_records(deployed))
    received = tasks(deployed, "Normal")
    embedded = run("TargetDefaultEmbedFunction", received)

    assert enqueued == embedded == {"batchItemFailures": []}
    assert len(received) == 1
    (entry,) = deployed.index.entries.values()
    assert entry["_source"]["metadata"] == {"author": "Ada"}
    (chunk,) = entry["_source"]["chunks"]
    assert chunk["text"] == "Tides\n\nThe moon pulls the sea."
    assert len(chunk["vector"]) == 8
    items = deployed.client("dynamodb").scan(TableName=deployed.outputs["LedgerTable"])["Items"]
    [control] = [item for item in items if item["row_key"]["S"] == "control/default"]
    [row] = [item for item in items if item != control]
    assert row["status"]["S"] == "completed"
    # Noted by the deployment: the same text again is unchanged while the index is the same.
    assert row["index_uuid"] == control["index_uuid"]
    assert "Tides" not in json.dumps([record["body"] for record in received])
