"""The handlers' surroundings: AWS by moto, a model server and a real OpenSearch node."""

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.embed import handler as embed_handler
from functions.enqueue import handler as enqueue_handler
from functions.index_setup.ensure import IndexSpec, ensure_index
from local.provider.server import ModelServer
from tests.builders import make_source, make_target
from tests.engines.opensearch_fixture import opensearch_url

__all__ = ["opensearch_url"]

REGION = "us-east-1"
EVENTS = Path(__file__).parents[2] / "events"


def event(name: str) -> dict[str, Any]:
    """Load an event of events/."""
    loaded: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return loaded


def written_metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, list[Any]]:
    """Return the values that the lines for CloudWatch have, by name."""
    found: dict[str, list[Any]] = {}
    for line in capsys.readouterr().out.splitlines():
        if line.startswith('{"_aws"'):
            for name, value in json.loads(line).items():
                found.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    return found


class Context:
    """A function that has a minute, from now on."""

    def __init__(self) -> None:
        self._end = time.monotonic() + 60

    def get_remaining_time_in_millis(self) -> int:
        return round((self._end - time.monotonic()) * 1000)


@dataclass(frozen=True)
class Surroundings:
    """What the functions talk to, for a test to look at."""

    dynamodb: Any
    sqs: Any
    secrets: Any
    queues: dict[str, str]
    http: OpenSearchHttp
    index: str
    provider: ModelServer

    def put(self, text: str) -> None:
        """Write the item that the events are about."""
        item = {"id": {"S": "a"}, "title": {"S": "Title"}, "body": {"S": text}}
        self.dynamodb.put_item(TableName="articles-table", Item=item | {"year": {"N": "2026"}})

    def row(self) -> dict[str, Any]:
        """Return the ledger row of the document."""
        key = {"row_key": {"S": "default/articles/a"}}
        found: dict[str, Any] = self.dynamodb.get_item(TableName="ledger", Key=key)["Item"]
        return found

    def messages(self, queue: str) -> list[dict[str, Any]]:
        """Receive what a lane holds, in the shape of an embed event's record."""
        answer = self.sqs.receive_message(
            QueueUrl=self.queues[queue],
            MaxNumberOfMessages=10,
            AttributeNames=["All"],
        )
        return [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
                "eventSourceARN": f"arn:aws:sqs:{REGION}:123456789012:{queue}",
            }
            for message in answer.get("Messages", [])
        ]

    def entry(self) -> dict[str, Any]:
        """Return the document's entry in the index."""
        found: dict[str, Any] = self.http.call("GET", f"{self.index}/_doc/articles%2Fa")
        return found


@pytest.fixture
def surroundings(opensearch_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Surroundings]:
    index = f"handlers-{uuid.uuid4().hex}"
    http = OpenSearchHttp(opensearch_url, credentials=None, region=REGION)
    spec = IndexSpec(index, "text-embedding-3-small", 16, {"year": "long"})
    ensure_index(spec, OpenSearchAdmin(http))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws(), ModelServer("hashed", key="the-key") as provider:
        made = Surroundings(
            dynamodb=boto3.client("dynamodb"),
            sqs=boto3.client("sqs"),
            secrets=boto3.client("secretsmanager"),
            queues={},
            http=http,
            index=index,
            provider=provider,
        )
        _create(made)
        enqueue_handler.enqueue.cache_clear()
        embed_handler.embed.cache_clear()
        _configure(made, opensearch_url, monkeypatch)
        yield made


def _create(made: Surroundings) -> None:
    for table, key in (("ledger", "row_key"), ("articles-table", "id")):
        made.dynamodb.create_table(
            TableName=table,
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    for lane in ("high", "normal"):
        name = f"{lane}.fifo"
        made.queues[name] = made.sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"})[
            "QueueUrl"
        ]
    for lane in ("bulk", "delete"):
        made.queues[lane] = made.sqs.create_queue(QueueName=lane)["QueueUrl"]
    made.secrets.create_secret(Name="key", SecretString='{"api_key": "the-key"}')
    boto3.client("s3").create_bucket(Bucket="stash")


def _configure(made: Surroundings, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make_source(text="{title}\n\n{body}", metadata={"year": "long"})
    target = make_target(index=made.index, base_url=made.provider.url)
    lanes = {name.removesuffix(".fifo"): url for name, url in made.queues.items()}
    values: dict[str, Any] = {
        "LEDGER_TABLE": "ledger",
        "SOURCES": json.dumps([source.model_dump(mode="json")]),
        "TARGETS": json.dumps([target.model_dump(mode="json")]),
        "TARGET": target.model_dump_json(),
        "INDEX_ENDPOINT": endpoint,
        "API_KEY_SECRET": "key",
        "STASH_BUCKET": "stash",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    # The same variable in two functions: each is built once, with its own.
    monkeypatch.setenv("QUEUES", json.dumps({"default": lanes}))
    enqueue_handler.enqueue()
    monkeypatch.setenv("QUEUES", json.dumps(lanes))
    embed_handler.embed()
