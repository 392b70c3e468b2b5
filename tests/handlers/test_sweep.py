"""The sweep handler on moto's tables, queues, buckets and events, and an index that is scripted."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.core.identity import DocumentId
from functions.core.ledger_row import LedgerRow, Status
from functions.sweep import handler
from functions.sweep.holds import QUIET_WAITING
from functions.sweep.process import SweepError, UnknownJobError
from local.runner.stream_event import EXHAUSTED, FailedRecords
from tests.builders import make_row, make_source, make_target
from tests.contract.ledger_engines import ledger_table
from tests.contract.test_failed_changes import AT
from tests.handlers.conftest import REGION, Context, event, written_metrics
from tests.unit.adapters.scripted_server import Answer, ScriptedServer

LONG_AGO_MS = 1_700_000_000_000
BUCKET = "failed-changes"


@dataclass(frozen=True)
class Stage:
    """What the function talks to."""

    ledger: DynamoDbLedger
    sqs: Any
    s3: Any
    urls: dict[str, str]
    index: ScriptedServer

    def put(self, name: str, **changes: Any) -> LedgerRow:
        row = make_row(document_id=DocumentId(name), key={"id": {"S": name}}, revision=0, **changes)
        return self.ledger.write([row]).stored[row.row_key]

    def row(self, row: LedgerRow) -> LedgerRow | None:
        return self.ledger.read([row.row_key]).get(row.row_key)

    def documents(self, queue: str) -> list[str]:
        answer = self.sqs.receive_message(QueueUrl=self.urls[queue], MaxNumberOfMessages=10)
        return [json.loads(m["Body"])["document_id"] for m in answer.get("Messages", [])]


@pytest.fixture
def stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws(), ScriptedServer() as index, ledger_table(request, "moto") as table:
        sqs, s3 = boto3.client("sqs"), boto3.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        urls = {lane: _queue(sqs, lane) for lane in ("high", "normal", "bulk", "delete")}
        values = {
            "STAGE": "test",
            "LEDGER_TABLE": table.name,
            "SOURCES": json.dumps([make_source().model_dump(mode="json")]),
            "TARGETS": json.dumps([make_target().model_dump(mode="json")]),
            "QUEUES": json.dumps({"default": urls}),
            "INDEX_ENDPOINT": index.url,
            "FAILED_CHANGES_BUCKET": BUCKET,
            "EVENT_BUS": "default",
            "STUCK_HOURS": "24",
        }
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        handler.sweep.cache_clear()
        yield Stage(DynamoDbLedger(table.client, table.name), sqs, s3, urls, index)
        handler.sweep.cache_clear()


def _queue(sqs: Any, lane: str) -> str:
    fifo = lane in ("high", "normal")
    name, attributes = (f"{lane}.fifo", {"FifoQueue": "true"}) if fifo else (lane, {})
    return str(sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])


def test_each_minute_what_is_due_is_sent(stage: Stage) -> None:
    """R29: parked rows, and nothing else; the index is looked at too."""
    settings = {"articles-1": {"settings": {"index": {"uuid": "index-1"}}}}
    stage.index.answers = [Answer(body=json.dumps(settings).encode())]
    parked = stage.put("parked", parked=True, next_attempt_ms=LONG_AGO_MS)
    stuck = stage.put("stuck", queued_ms=LONG_AGO_MS)

    handler.lambda_handler({"job": "due"}, Context())

    assert stage.documents("normal") == ["parked"]
    assert (stage.row(parked) or parked).progress.sent
    assert stage.row(stuck) == stuck
    assert [(one.method, one.path) for one in stage.index.asked] == [
        ("GET", "/articles-index/_settings")
    ]


def test_each_quarter_of_an_hour_the_rest_is_done(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    """R07 R29: stuck, exhausted, tombstones and failed changes, in one run."""
    stuck = stage.put("stuck", queued_ms=LONG_AGO_MS)
    over = stage.put("over", queued_ms=LONG_AGO_MS, attempts=5)
    deleted = stage.put("deleted", status=Status.DELETED, completed_ms=LONG_AGO_MS)
    given_up = FailedRecords(
        records=event("1-enqueue-insert")["Records"],
        condition=EXHAUSTED,
        invocations=5,
        request_id="request",
        function_arn="function",
        mapping_id="mapping",
        stream_arn="stream",
        shard_id="shard",
    )
    stage.s3.put_object(Bucket=BUCKET, Key=given_up.key(AT), Body=given_up.body(AT))
    stage.index.answers = [Answer(body=b'{"docs": [{"_id": "articles/deleted", "found": false}]}')]

    handler.lambda_handler({"job": "maintenance"}, Context())

    assert set(stage.documents("normal")) == {"stuck", "a"}
    assert [row and row.status for row in map(stage.row, (stuck, over, deleted))] == [
        Status.PENDING,
        Status.FAILED_MAX_RETRIES,
        None,
    ]
    assert "Contents" not in stage.s3.list_objects_v2(Bucket=BUCKET)
    metrics = written_metrics(capsys)
    assert (metrics["TasksRequeued"], metrics["TasksExhausted"]) == ([1.0], [1.0])
    assert set(metrics["stage"]) == {"test"}


def test_failed_document_heals_when_the_live_lanes_are_quiet(stage: Stage) -> None:
    """R30: by what SQS tells about them; what the same run sent is live work, too."""
    stuck = [f"stuck {number}" for number in range(QUIET_WAITING + 1)]
    for name in stuck:
        stage.put(name, queued_ms=LONG_AGO_MS)
    a_minute_ago = time.time_ns() // 1_000_000 - 60_000
    stage.put("healing", status=Status.FAILED, next_attempt_ms=a_minute_ago)

    handler.lambda_handler({"job": "maintenance"}, Context())
    assert stage.documents("bulk") == []
    assert set(stage.documents("normal")) < set(stuck)

    handler.lambda_handler({"job": "maintenance"}, Context())
    assert stage.documents("bulk") == ["healing"]


def test_run_with_a_job_that_failed_is_an_error_of_the_function(stage: Stage) -> None:
    """R29 R61: the alarm on the function's errors tells it; the other jobs have run."""
    stage.put("stuck", queued_ms=LONG_AGO_MS)
    stage.s3.put_object(Bucket=BUCKET, Key="aws/lambda/odd", Body=b"{}")

    with pytest.raises(SweepError, match="replay: 1 batches, such as aws/lambda/odd"):
        handler.lambda_handler({"job": "maintenance"}, Context())

    assert stage.documents("normal") == ["stuck"]


def test_event_without_a_job_is_refused(stage: Stage) -> None:  # noqa: ARG001
    """R29: a schedule that was changed by hand is named."""
    with pytest.raises(UnknownJobError, match="the event's job is 'None'"):
        handler.lambda_handler({}, Context())
