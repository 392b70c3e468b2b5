"""What Lambda makes of stream records: the function's event, and the record of what failed.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
"""

import base64
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from local.aws_client import REGION
from local.runner.mapping import Record, event_of

EXHAUSTED = "RetryAttemptsExhausted"
TOO_OLD = "RecordAgeExceeded"


def stream_record(record: Mapping[str, Any], *, arn: str, written_after: float = 0.0) -> Record:
    """Return the record of the event for a record of the streams API."""
    data = dict(record["dynamodb"])
    written = data["ApproximateCreationDateTime"].timestamp()
    # A stream in AWS knows the second.
    data["ApproximateCreationDateTime"] = int(max(written, written_after))
    for image in ("Keys", "NewImage", "OldImage"):
        if image in data:
            data[image] = {name: _plain(value) for name, value in data[image].items()}
    event = {
        "eventID": record["eventID"],
        "eventName": record["eventName"],
        "eventVersion": record.get("eventVersion", "1.1"),
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "dynamodb": data,
        "eventSourceARN": arn,
    }
    if "userIdentity" in record:
        identity = record["userIdentity"]
        event["userIdentity"] = {"type": identity["Type"], "principalId": identity["PrincipalId"]}
    return event


def sequence_number(record: Record) -> str:
    """Return the place of an event's record in its shard."""
    number: str = record["dynamodb"]["SequenceNumber"]
    return number


def created_seconds(record: Record) -> int:
    """Return when an event's record was written, as the stream knows it."""
    created: int = record["dynamodb"]["ApproximateCreationDateTime"]
    return created


def _plain(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a typed value as JSON can carry it: bytes become base64, at every depth."""
    if not value:
        # So DynamoDB Local spells an empty map in its streams; embed reads the item itself.
        return {"M": {}}
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {kind: base64.b64encode(content).decode()}
        case "BS":
            return {kind: [base64.b64encode(item).decode() for item in content]}
        case "L":
            return {kind: [_plain(item) for item in content]}
        case "M":
            return {kind: {name: _plain(item) for name, item in content.items()}}
    return {kind: content}


@dataclass(frozen=True)
class FailedRecords:
    """Records that the mapping gives up, and why."""

    records: Sequence[Record]
    condition: str
    invocations: int
    request_id: str
    function_arn: str
    mapping_id: str
    stream_arn: str
    shard_id: str

    def key(self, now: datetime) -> str:
        """Return the key of the object."""
        stamp = now.strftime("%Y/%m/%d/%Y-%m-%dT%H.%M.%S")
        return f"aws/lambda/{self.mapping_id}/{self.shard_id}/{stamp}-{uuid.uuid4()}"

    def body(self, now: datetime) -> bytes:
        """Return the content of the object; the whole event is in it, as text."""
        first, last = self.records[0], self.records[-1]
        record: dict[str, Any] = {
            "requestContext": {
                "requestId": self.request_id,
                "functionArn": self.function_arn,
                "condition": self.condition,
                "approximateInvokeCount": self.invocations,
            },
            "responseContext": {
                "statusCode": 200,
                "executedVersion": "$LATEST",
                "functionError": "Unhandled",
            },
            "version": "1.0",
            "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z",
            "DDBStreamBatchInfo": {
                "shardId": self.shard_id,
                "startSequenceNumber": sequence_number(first),
                "endSequenceNumber": sequence_number(last),
                "approximateArrivalOfFirstRecord": _arrival(first),
                "approximateArrivalOfLastRecord": _arrival(last),
                "batchSize": len(self.records),
                "streamArn": self.stream_arn,
            },
            "payload": event_of(self.records).decode(),
        }
        return json.dumps(record).encode()


def _arrival(record: Record) -> str:
    return datetime.fromtimestamp(created_seconds(record), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
