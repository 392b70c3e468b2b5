"""The enqueue handler on the events of events/."""

import json

import pytest

from functions.enqueue.handler import lambda_handler
from tests.handlers.conftest import Context, Surroundings, event


def test_insert_becomes_a_pending_row_and_a_task(surroundings: Surroundings) -> None:
    """R03 R04 R28: the version is in the ledger, the task in its lane, nothing failed."""
    answer = lambda_handler(event("1-enqueue-insert"), Context())

    [message] = surroundings.messages("normal.fifo")
    row = surroundings.row()
    assert answer == {"batchItemFailures": []}
    assert (row["status"]["S"], row["operation"]["S"]) == ("pending", "upsert")
    assert json.loads(message["body"])["version"] == int(row["version"]["N"])


def test_redelivered_record_makes_no_second_task(surroundings: Surroundings) -> None:
    """R04: the same deduplication id, which SQS swallows."""
    lambda_handler(event("1-enqueue-insert"), Context())
    lambda_handler(event("1-enqueue-insert"), Context())

    assert len(surroundings.messages("normal.fifo")) == 1


def test_edit_and_removal_take_new_versions(surroundings: Surroundings) -> None:
    """R04 R07 R15: a removal goes to the delete lane."""
    versions = []
    for name in ("1-enqueue-insert", "2-enqueue-modify", "3-enqueue-remove"):
        lambda_handler(event(name), Context())
        versions.append(int(surroundings.row()["version"]["N"]))

    [removal] = surroundings.messages("delete")
    assert versions == sorted(set(versions))
    assert json.loads(removal["body"])["version"] == versions[-1]


def test_stream_of_keys_only_works(surroundings: Surroundings) -> None:
    """R02: an existing table may have any stream view; the text is read later anyway."""
    lambda_handler(event("4-enqueue-keys-only"), Context())

    assert len(surroundings.messages("normal.fifo")) == 1


def test_ledger_that_is_down_fails_the_batch_from_its_first_record(
    surroundings: Surroundings,
) -> None:
    """R31: nothing is lost; the stream comes again."""
    surroundings.dynamodb.delete_table(TableName="ledger")

    answer = lambda_handler(event("1-enqueue-insert"), Context())

    assert answer == {"batchItemFailures": [{"itemIdentifier": "100000000000000000001"}]}


def test_queue_that_is_down_leaves_the_task_to_the_sweep(surroundings: Surroundings) -> None:
    """R04 R14 R31: the row says that its message is missing, and the stream goes on."""
    surroundings.sqs.delete_queue(QueueUrl=surroundings.queues["normal.fifo"])

    answer = lambda_handler(event("1-enqueue-insert"), Context())

    row = surroundings.row()
    assert answer == {"batchItemFailures": []}
    assert (row["status"]["S"], row["sent"]["BOOL"]) == ("pending", False)
    assert row["open_shard"]["S"].startswith("parked-")


def test_step_is_logged_without_the_text(
    surroundings: Surroundings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """R63: document and version, never the text."""
    lambda_handler(event("1-enqueue-insert"), Context())

    [accepted] = [vars(record) for record in caplog.records if record.name == "enqueue"]
    assert accepted["message"] == "change_accepted"
    assert accepted["document_id"] == "a"
    assert accepted["version"] == int(surroundings.row()["version"]["N"])
    assert "first text" not in str(accepted)
