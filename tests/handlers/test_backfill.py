"""The backfill handler: an errand from its queue, a tick of the clock, and what it sends itself."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.adapters.dynamodb_jobs import DynamoDbJobs
from functions.backfill import compare, handler
from functions.core.backfill_job import MAX_FAILURES, Estimate, Job, JobState, Only
from functions.core.failure import FailureError
from functions.core.task import parse_task
from tests.builders import make_source, make_target
from tests.handlers.conftest import REGION, Context, event
from tests.ledger_table import create_ledger_table

JOB = Job(
    id="20260131-1200-ab12",
    source="articles",
    target="default",
    only=Only.MISSING,
    segments=1,
    by="me",
    reason="first load",
    created_ms=1_700_000_000_000,
    estimate=Estimate(items=1, documents=1, tokens=10),
)


class EmptyIndex(BaseHTTPRequestHandler):
    """An index that holds nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        docs = [{"_id": one, "found": False} for one in asked.get("ids", [])]
        answer = json.dumps({"docs": docs, "hits": {"hits": []}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def refuse(index: EmptyIndex) -> None:
    """Answer that the function has no rights."""
    index.rfile.read(int(index.headers["Content-Length"]))
    body = b'{"error": {"type": "security_exception", "reason": "no permissions"}}'
    index.send_response(403)
    index.send_header("Content-Length", str(len(body)))
    index.end_headers()
    index.wfile.write(body)


@dataclass(frozen=True)
class Around:
    """What the function talks to, for a test to look at."""

    dynamodb: Any
    sqs: Any
    bulk: str
    errands: str

    def waiting(self, url: str) -> list[str]:
        answer = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        return [message["Body"] for message in answer.get("Messages", [])]


@pytest.fixture
def around(monkeypatch: pytest.MonkeyPatch) -> Iterator[Around]:
    """Return a table with one item, its ledger and queues, and an index that holds nothing."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setattr(compare, "SETTLE_SECONDS", 0.0)
    index = HTTPServer(("127.0.0.1", 0), EmptyIndex)
    Thread(target=index.serve_forever, daemon=True).start()
    here: Any = {"core": {"passthrough": {"urls": ["http://127.0.0.1.*"]}}}
    with mock_aws(config=here):
        dynamodb, sqs = boto3.client("dynamodb"), boto3.client("sqs")
        create_ledger_table(dynamodb, "ledger")
        dynamodb.create_table(
            TableName=make_source().table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )
        item = {"id": {"S": "a"}, "body": {"S": "hello"}}
        dynamodb.put_item(TableName=make_source().table, Item=item)
        bulk, errands = (sqs.create_queue(QueueName=n)["QueueUrl"] for n in ("bulk", "errands"))
        variables = {
            "LEDGER_TABLE": "ledger",
            "SOURCES": f"[{make_source().model_dump_json()}]",
            "TARGETS": f"[{make_target().model_dump_json()}]",
            "QUEUES": json.dumps({"default": {"bulk": bulk}}),
            "INDEX_ENDPOINT": f"http://127.0.0.1:{index.server_port}",
            "ERRANDS_QUEUE": errands,
            "VERIFY": '{"days": 1, "repair": true}',
            "RETENTION": "{}",
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        _forget()
        yield Around(dynamodb, sqs, bulk, errands)
    _forget()
    index.shutdown()
    index.server_close()


def _forget() -> None:
    for cached in (handler.settings, handler.errands, handler.steps):
        cached.cache_clear()


def test_errand_of_a_segment_sends_the_items_of_the_table(around: Around) -> None:
    """R43: the row, then its task in the bulk lane; and the job ends."""
    jobs = DynamoDbJobs(around.dynamodb, "ledger", kept_days=90)
    jobs.create(JOB)

    handler.lambda_handler(event("12-backfill-segment"), Context())

    [body] = around.waiting(around.bulk)
    task = parse_task(body)
    key = {"row_key": {"S": task.row_key}}
    row = around.dynamodb.get_item(TableName="ledger", Key=key)["Item"]
    assert (task.document_id, str(task.version)) == ("a", row["version"]["N"])
    job = jobs.read(JOB.id)
    assert job is not None
    assert job.state is JobState.DONE
    assert [one.sent for one in jobs.segments(JOB)] == [1]
    handler.lambda_handler({"job": "jobs"}, Context())
    assert around.waiting(around.errands) == []


def test_refusal_of_the_index_is_a_failure_of_the_segment(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R43: it waits longer each time, and says in the end that it cannot go on."""

    monkeypatch.setattr(EmptyIndex, "do_POST", refuse)
    jobs = DynamoDbJobs(around.dynamodb, "ledger", kept_days=90)
    jobs.create(JOB)

    handler.lambda_handler(event("12-backfill-segment"), Context())

    [segment] = jobs.segments(JOB)
    assert (segment.failures, segment.failure) == (
        1,
        "configuration: OpenSearch answered 403 security_exception: no permissions",
    )
    for _ in range(MAX_FAILURES - 1):
        handler.lambda_handler(event("12-backfill-segment"), Context())
    job = jobs.read(JOB.id)
    assert job is not None
    assert job.state is JobState.FAILED


def test_proof_finds_and_repairs_a_missing_entry(around: Around) -> None:
    """R56: each hour a slice; the repair is a task in the bulk lane."""
    handler.lambda_handler({"job": "proof"}, Context())
    [errand] = around.waiting(around.errands)
    assert json.loads(errand) == {"proof": "default/articles"}

    record = {**event("12-backfill-segment")["Records"][0], "body": errand}
    for _ in range(24):
        handler.lambda_handler({"Records": [record]}, Context())

    assert [parse_task(body).document_id for body in around.waiting(around.bulk)] == ["a"]


def test_proof_that_fails_leaves_no_message(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R56: the clock sends one each hour; those of a day of failures would keep out segments."""
    monkeypatch.setattr(EmptyIndex, "do_POST", refuse)
    handler.lambda_handler({"job": "proof"}, Context())
    answer = around.sqs.receive_message(QueueUrl=around.errands)
    [message] = answer["Messages"]
    record = {"body": message["Body"], "receiptHandle": message["ReceiptHandle"]}

    with pytest.raises(FailureError, match="403"):
        handler.lambda_handler({"Records": [record]}, Context())

    hidden = "ApproximateNumberOfMessagesNotVisible"
    answered = around.sqs.get_queue_attributes(QueueUrl=around.errands, AttributeNames=[hidden])
    assert answered["Attributes"][hidden] == "0"


def test_message_that_is_no_errand_is_logged_and_forgotten(
    around: Around, caplog: pytest.LogCaptureFixture
) -> None:
    """R43: it would come again for days."""
    record = {**event("12-backfill-segment")["Records"][0], "body": "hello"}

    handler.lambda_handler({"Records": [record]}, Context())

    assert "message_malformed" in caplog.text
    assert around.waiting(around.errands) == []
