"""Events have the shape that Lambda documents, and a size that it takes."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from local.runner.mapping import event_of, split_by_payload
from local.runner.queue_source import queue_record
from local.runner.stream_event import stream_record


def test_a_message_with_attributes() -> None:
    """R82: own attributes are typed, with base64 for bytes."""
    message = {
        "MessageId": "id",
        "ReceiptHandle": "handle",
        "Body": "{}",
        "MD5OfBody": "hash",
        "MD5OfMessageAttributes": "other",
        "Attributes": {"MessageGroupId": "g", "ApproximateReceiveCount": "1"},
        "MessageAttributes": {
            "kind": {"DataType": "String", "StringValue": "x"},
            "raw": {"DataType": "Binary", "BinaryValue": b"\x00"},
        },
    }

    record = queue_record(message, arn="arn:aws:sqs:us-east-1:000000000000:q")

    assert record == {
        "messageId": "id",
        "receiptHandle": "handle",
        "body": "{}",
        "attributes": {"MessageGroupId": "g", "ApproximateReceiveCount": "1"},
        "messageAttributes": {
            "kind": {
                "stringValue": "x",
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": "String",
            },
            "raw": {
                "binaryValue": "AA==",
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": "Binary",
            },
        },
        "md5OfBody": "hash",
        "md5OfMessageAttributes": "other",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:q",
        "awsRegion": "us-east-1",
    }


def test_a_record_that_time_to_live_removed() -> None:
    """R82: the event says who removed it, in Lambda's spelling."""
    record = {
        "eventID": "e",
        "eventName": "REMOVE",
        "userIdentity": {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"},
        "dynamodb": {
            "ApproximateCreationDateTime": datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC),
            "Keys": {"id": {"BS": [b"\x00"]}},
            "SequenceNumber": "1",
        },
    }

    event = stream_record(record, arn="arn")

    assert event["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    assert event["dynamodb"]["ApproximateCreationDateTime"] == 1767225601
    assert event["dynamodb"]["Keys"] == {"id": {"BS": ["AA=="]}}


@given(st.lists(st.text(max_size=40)), st.integers(min_value=30, max_value=200))
def test_events_are_cut_by_size_in_order(bodies: list[str], limit: int) -> None:
    """R82: every record once, in order; a part is over the limit only when it is one record."""
    records = [{"body": body} for body in bodies]

    parts = list(split_by_payload(records, limit))

    assert [record for part in parts for record in part] == records
    assert all(len(part) == 1 or len(event_of(part)) <= limit for part in parts)
    assert all(json.loads(event_of(part))["Records"] for part in parts)


def test_an_empty_map_that_has_lost_its_type() -> None:
    """R82: DynamoDB Local spells it so; one such item must not stop the stream."""
    seen = datetime(2026, 1, 1, tzinfo=UTC)
    record = {
        "eventID": "1",
        "eventName": "INSERT",
        "dynamodb": {
            "ApproximateCreationDateTime": seen,
            "Keys": {"id": {"S": "a"}},
            "NewImage": {"id": {"S": "a"}, "body": {}},
        },
    }

    made = stream_record(record, arn="arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/s")

    assert made["dynamodb"]["NewImage"]["body"] == {"M": {}}
