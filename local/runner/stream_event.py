"""A DynamoDB stream record as Lambda gives it to a function.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

import base64
from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]


def stream_record(record: Mapping[str, Any], *, arn: str, region: str) -> Record:
    """Return the record of the event for a record of the streams API."""
    data = dict(record["dynamodb"])
    # The stream knows the second only.
    data["ApproximateCreationDateTime"] = int(data["ApproximateCreationDateTime"].timestamp())
    for image in ("Keys", "NewImage", "OldImage"):
        if image in data:
            data[image] = {name: _plain(value) for name, value in data[image].items()}
    event = {
        "eventID": record["eventID"],
        "eventName": record["eventName"],
        "eventVersion": record.get("eventVersion", "1.1"),
        "eventSource": "aws:dynamodb",
        "awsRegion": region,
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
