"""Receive and delete on a real queue; a message becomes the record that a function gets.

https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
"""

import base64
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.aws_client import REGION, local_arn
from local.runner.mapping import Record, Source, Wiring
from local.specs import QueueMappingSpec

logger = logging.getLogger(__name__)

RECEIVE_LIMIT = 10


class QueueSource(Source):
    """One queue as its mapping sees it."""

    def __init__(self, spec: QueueMappingSpec, wiring: Wiring) -> None:
        super().__init__(spec.queue, spec, wiring)
        self._queue = spec.queue
        self._arn = local_arn("sqs", spec.queue)
        place, connections = wiring.place, (spec.max_concurrency or 5) + 2
        self._sqs = place.client("sqs", place.sqs_url, connections=connections)
        self._url = ""  # looked up at the first poll

    def delete(self, records: Sequence[Record]) -> None:
        """Delete what succeeded, ten at a time; what cannot be deleted comes again."""
        for start in range(0, len(records), RECEIVE_LIMIT):
            self._delete_ten(records[start : start + RECEIVE_LIMIT])

    def read(self, count: int, wait_seconds: int) -> list[Record]:
        if not self._url:
            self._url = self._sqs.get_queue_url(QueueName=self._queue)["QueueUrl"]
        answer = self._sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=min(count, RECEIVE_LIMIT),
            WaitTimeSeconds=wait_seconds,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages: Iterable[Mapping[str, Any]] = answer.get("Messages", [])
        return [queue_record(message, arn=self._arn) for message in messages]

    def _delete_ten(self, records: Sequence[Record]) -> None:
        entries = [
            {"Id": str(number), "ReceiptHandle": record["receiptHandle"]}
            for number, record in enumerate(records)
        ]
        try:
            answer = self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
        except (BotoCoreError, ClientError) as error:
            logger.warning("delete failed on %s: %s", self._queue, error)
            return
        for failure in answer.get("Failed", []):
            message_id = records[int(failure["Id"])]["messageId"]
            logger.warning("%s was not deleted: %s", message_id, failure.get("Message"))


def queue_record(message: Mapping[str, Any], *, arn: str) -> Record:
    """Return the record of a received message."""
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {
            name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": REGION,
    }
    if "MD5OfMessageAttributes" in message:
        record["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
    return record


def _attribute(value: Mapping[str, Any]) -> Mapping[str, Any]:
    attribute: dict[str, Any] = {
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": value["DataType"],
    }
    if "StringValue" in value:
        attribute["stringValue"] = value["StringValue"]
    if "BinaryValue" in value:
        attribute["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode()
    return attribute
