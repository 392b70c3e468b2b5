"""The backfill handler: an errand from its queue, a tick of the clock, and what it sends itself."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.adapters.dynamodb_jobs import DynamoDbJobs
from functions.backfill import compare, handler
from functions.core.backfill_job import Estimate, Job, JobState, Only
from functions.core.task import parse_task
from tests.handlers.conftest import Context, Surroundings, event

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


@pytest.fixture
def errands(surroundings: Surroundings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the URL of the function's own queue."""
    url: str = surroundings.sqs.create_queue(QueueName="errands")["QueueUrl"]
    monkeypatch.setenv("ERRANDS_QUEUE", url)
    monkeypatch.setenv("VERIFY", json.dumps({"days": 1, "repair": True}))
    monkeypatch.setenv("RETENTION", "{}")
    monkeypatch.setattr(compare, "SETTLE_SECONDS", 0.0)
    for cached in (handler.settings, handler.errands, handler.steps):
        cached.cache_clear()
    yield url
    for cached in (handler.settings, handler.errands, handler.steps):
        cached.cache_clear()


def waiting(surroundings: Surroundings, url: str) -> list[Any]:
    answer = surroundings.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def test_errand_of_a_segment_sends_the_items_of_the_table(
    surroundings: Surroundings, errands: str
) -> None:
    """R43: the row, then its task in the bulk lane; and the job ends."""
    del errands
    surroundings.put("hello")
    jobs = DynamoDbJobs(surroundings.dynamodb, "ledger", kept_days=90)
    jobs.create(JOB)

    handler.lambda_handler(event("12-backfill-segment"), Context())

    [message] = surroundings.messages("bulk")
    task = parse_task(message["body"])
    assert (task.document_id, task.version) == ("a", int(surroundings.row()["version"]["N"]))
    job = jobs.read(JOB.id)
    assert job is not None
    assert job.state is JobState.DONE
    assert [one.sent for one in jobs.segments(JOB)] == [1]


def test_proof_finds_and_repairs_a_missing_entry(surroundings: Surroundings, errands: str) -> None:
    """R56: each hour a slice; the repair is a task in the bulk lane."""
    surroundings.put("hello")
    handler.lambda_handler({"job": "proof"}, Context())
    assert waiting(surroundings, errands) == [{"proof": "default/articles"}]

    record = event("12-backfill-segment")["Records"][0]
    record["body"] = json.dumps({"proof": "default/articles"})
    for _ in range(24):
        handler.lambda_handler({"Records": [record]}, Context())

    assert [parse_task(m["body"]).document_id for m in surroundings.messages("bulk")] == ["a"]


def test_message_that_is_no_errand_is_logged_and_forgotten(
    surroundings: Surroundings, errands: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """R43: it would come again for days."""
    del surroundings, errands
    record = {**event("12-backfill-segment")["Records"][0], "body": "hello"}

    handler.lambda_handler({"Records": [record]}, Context())

    assert "message_malformed" in capsys.readouterr().out
