"""What Lambda writes to an S3 on-failure destination: the invocation record with its payload.

https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from local.runner.mapping import Record, event_of
from local.runner.stream_event import created_seconds, sequence_number

EXHAUSTED = "RetryAttemptsExhausted"
TOO_OLD = "RecordAgeExceeded"


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
