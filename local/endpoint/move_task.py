"""One move of dead letters back to the queues they came from, or to another one.

No engine does it right for FIFO queues. Each message is sent before it is deleted: a move that
crashes in between leaves both, and a FIFO queue drops the second by its deduplication id.
"""

import base64
import json
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

RUNNING, COMPLETED, CANCELLING = "RUNNING", "COMPLETED", "CANCELLING"
CANCELLED, FAILED = "CANCELLED", "FAILED"
_BATCH = 10


class UnknownSourceError(Exception):
    """The message was sent to the dead letters directly, so its source queue is not known."""


class MoveTask:
    """A task that runs in a thread until the queue is empty, it fails, or it is cancelled."""

    def __init__(
        self,
        sqs: "SQSClient",
        *,
        source_arn: str,
        destination_arn: str | None,
        per_second: int | None,
    ) -> None:
        """Count the messages to move."""
        self.source_arn = source_arn
        self.handle = _handle(source_arn)
        self.moved = 0
        self.status = RUNNING
        self._sqs = sqs
        self._destination_arn = destination_arn
        self._per_second = per_second
        self._started = time.time()
        self._failure = ""
        self._stop = threading.Event()
        self._changing = threading.Lock()
        self._urls: dict[str, str] = {}
        self._source_url = self._url(source_arn)
        counts = sqs.get_queue_attributes(
            QueueUrl=self._source_url, AttributeNames=["ApproximateNumberOfMessages"]
        )
        self._to_move = int(counts["Attributes"]["ApproximateNumberOfMessages"])
        self._thread = threading.Thread(target=self._run, name="move-task", daemon=True)

    @property
    def is_active(self) -> bool:
        """Return True while messages may still be moved."""
        return self.status in (RUNNING, CANCELLING)

    def start(self) -> None:
        """Begin to move."""
        self._thread.start()

    def cancel(self) -> None:
        """Move no further message."""
        with self._changing:
            if self.status == RUNNING:
                self.status = CANCELLING
        self._stop.set()

    def wait(self) -> None:
        """Wait until the task is over."""
        self._thread.join()

    def described(self) -> dict[str, Any]:
        """Describe the task as ListMessageMoveTasks does."""
        status = self.status
        optional = {
            # AWS gives it for running tasks only.
            "TaskHandle": self.handle if status == RUNNING else None,
            "DestinationArn": self._destination_arn,
            "MaxNumberOfMessagesPerSecond": self._per_second,
            "FailureReason": self._failure or None,
        }
        return {
            "Status": status,
            "SourceArn": self.source_arn,
            "ApproximateNumberOfMessagesMoved": self.moved,
            "ApproximateNumberOfMessagesToMove": self._to_move,
            "StartedTimestamp": int(self._started * 1000),
            **{key: value for key, value in optional.items() if value is not None},
        }

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and (messages := self._receive()):
                self._move(messages)
        except UnknownSourceError:
            self._end(FAILED, "CouldNotDetermineMessageSource")
        except ClientError as error:
            self._end(FAILED, error.response["Error"]["Code"])
        except BotoCoreError as error:
            self._end(FAILED, type(error).__name__)
        else:
            self._end(CANCELLED if self._stop.is_set() else COMPLETED)

    def _end(self, status: str, failure: str = "") -> None:
        with self._changing:
            self._failure = failure
            self.status = status

    def _receive(self) -> "list[MessageTypeDef]":
        limit = min(_BATCH, self._per_second or _BATCH)
        return self._sqs.receive_message(
            QueueUrl=self._source_url,
            MaxNumberOfMessages=limit,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages", [])

    def _move(self, messages: "list[MessageTypeDef]") -> None:
        waiting = list(messages)
        try:
            # One at a time: the messages of a group must arrive in their order.
            while waiting and not self._is_stopped():
                self._send(waiting[0])
                self._sqs.delete_message(
                    QueueUrl=self._source_url, ReceiptHandle=waiting[0]["ReceiptHandle"]
                )
                waiting.pop(0)
                self.moved += 1
        finally:
            self._release(waiting)

    def _is_stopped(self) -> bool:
        """Wait until the rate allows the next message; return True if the task was stopped."""
        if self._per_second is None:
            return self._stop.is_set()
        turn = self._started + self.moved / self._per_second
        return self._stop.wait(max(0.0, turn - time.time()))

    def _send(self, message: "MessageTypeDef") -> None:
        attributes = message.get("Attributes", {})
        destination = self._destination_arn or attributes.get("DeadLetterQueueSourceArn")
        if not destination:
            raise UnknownSourceError(message["MessageId"])
        optional: dict[str, Any] = {}
        if given := message.get("MessageAttributes"):
            optional["MessageAttributes"] = given
        if trace := attributes.get("AWSTraceHeader"):
            header = {"DataType": "String", "StringValue": trace}
            optional["MessageSystemAttributes"] = {"AWSTraceHeader": header}
        if group := attributes.get("MessageGroupId"):
            optional["MessageGroupId"] = group
        if destination.endswith(".fifo"):
            # Not the id it was first sent with: the source queue may still remember it and would
            # drop the message. Not the message id either, which SQS and ElasticMQ use as the id
            # on the way to the dead letters: ElasticMQ (1.7.1) loses a message that becomes a
            # dead letter again within five minutes under an id that the dead letters have seen.
            optional["MessageDeduplicationId"] = f"redrive-{message['MessageId']}"
        self._sqs.send_message(
            QueueUrl=self._url(destination), MessageBody=message["Body"], **optional
        )

    def _release(self, messages: "list[MessageTypeDef]") -> None:
        for message in messages:
            self._sqs.change_message_visibility(
                QueueUrl=self._source_url,
                ReceiptHandle=message["ReceiptHandle"],
                VisibilityTimeout=0,
            )

    def _url(self, arn: str) -> str:
        if arn not in self._urls:
            name = arn.rpartition(":")[2]
            self._urls[arn] = self._sqs.get_queue_url(QueueName=name)["QueueUrl"]
        return self._urls[arn]


def _handle(source_arn: str) -> str:
    fields = {"taskId": str(uuid.uuid4()), "sourceArn": source_arn}
    return base64.b64encode(json.dumps(fields).encode()).decode()
