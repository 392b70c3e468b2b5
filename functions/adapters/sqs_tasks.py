"""The lanes. SendMessageBatch answers 200 with a list of failures: each one is found again."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.store_errors import store_failures
from functions.core.batches import batches
from functions.core.ports import Message
from functions.core.task import Task

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType
    from mypy_boto3_sqs.type_defs import (
        ChangeMessageVisibilityBatchRequestEntryTypeDef,
        SendMessageBatchRequestEntryTypeDef,
    )

MAX_BATCH = 10
DEPTH: "QueueAttributeNameType" = "ApproximateNumberOfMessages"


class SqsTasks:
    """Sends tasks, and hides messages for a while."""

    def __init__(self, client: "SQSClient", queues: Mapping[str, Mapping[str, str]]) -> None:
        self._client = client
        self._queues = queues  # target -> queue -> URL
        self._url_by_name = {
            url.rsplit("/", 1)[-1]: url for urls in queues.values() for url in urls.values()
        }

    def send(self, tasks: Sequence[Task]) -> list[Task]:
        by_url: dict[str | None, list[Task]] = {}
        for task in tasks:
            # A queue of settings that were changed since is none that accepts.
            url = self._queues.get(task.target, {}).get(task.queue)
            by_url.setdefault(url, []).append(task)
        return by_url.pop(None, []) + [
            task
            for url, tasks_of_queue in by_url.items()
            if url is not None
            for batch in batches(tasks_of_queue, MAX_BATCH)
            for task in self._send(url, batch)
        ]

    def hide(self, messages: Sequence[tuple[Message, int]]) -> list[Message]:
        by_url: dict[str | None, list[tuple[Message, int]]] = {}
        for message, seconds in messages:
            by_url.setdefault(self._url_by_name.get(message.queue), []).append((message, seconds))
        unchanged = [message for message, _ in by_url.pop(None, [])]
        for url, messages_of_queue in by_url.items():
            for batch in batches(messages_of_queue, MAX_BATCH):
                unchanged += self._hide(url or "", batch)
        return unchanged

    def acknowledge(self, message: Message) -> None:
        url = self._url_by_name.get(message.queue)
        # What fails is acknowledged by the answer of the run.
        with suppress(ClientError, BotoCoreError):
            if url is not None:
                self._client.delete_message(QueueUrl=url, ReceiptHandle=message.receipt_handle)

    def waiting(self, target: str) -> dict[str, int]:
        return {name: self._depth(url) for name, url in self._queues.get(target, {}).items()}

    def has_queue(self, target: str, queue: str) -> bool:
        return queue in self._queues.get(target, {})

    def _depth(self, url: str) -> int:
        with store_failures(f"asking for the depth of queue {url.rsplit('/', 1)[-1]}"):
            answer = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=[DEPTH])
        return int(answer["Attributes"][DEPTH])

    def _hide(self, url: str, messages: Sequence[tuple[Message, int]]) -> list[Message]:
        entries: list[ChangeMessageVisibilityBatchRequestEntryTypeDef] = [
            {
                "Id": str(number),
                "ReceiptHandle": message.receipt_handle,
                "VisibilityTimeout": seconds,
            }
            for number, (message, seconds) in enumerate(messages)
        ]
        # A handle that is no longer valid fails alone: its message is back already. And where
        # SQS does not answer, the messages come back when their time runs out; an error here
        # would bring the acknowledged ones of the batch back too.
        try:
            answer = self._client.change_message_visibility_batch(QueueUrl=url, Entries=entries)
        except (ClientError, BotoCoreError):
            return [message for message, _ in messages]
        return [messages[int(failed["Id"])][0] for failed in answer.get("Failed", [])]

    def _send(self, url: str, tasks: Sequence[Task]) -> list[Task]:
        entries = [_entry(str(number), task) for number, task in enumerate(tasks)]
        try:
            answer = self._client.send_message_batch(QueueUrl=url, Entries=entries)
        except (ClientError, BotoCoreError):
            return list(tasks)
        return [tasks[int(failed["Id"])] for failed in answer.get("Failed", [])]


def parse_messages(records: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read the records of an SQS event."""
    return [
        Message(
            message_id=record["messageId"],
            receipt_handle=record["receiptHandle"],
            body=record["body"],
            queue=record["eventSourceARN"].rsplit(":", 1)[-1],
            receive_count=int(record["attributes"]["ApproximateReceiveCount"]),
            sent_ms=int(record["attributes"]["SentTimestamp"]),
        )
        for record in records
    ]


def _entry(number: str, task: Task) -> "SendMessageBatchRequestEntryTypeDef":
    entry: SendMessageBatchRequestEntryTypeDef = {"Id": number, "MessageBody": task.to_json()}
    if task.lane.is_fifo:
        entry["MessageDeduplicationId"] = task.deduplication_id
        entry["MessageGroupId"] = task.group
    elif task.tenant:
        # Makes it a fair queue:
        # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html
        entry["MessageGroupId"] = task.tenant
    if task.trace_id:
        # Joins the trace of embed to that of the write.
        entry["MessageSystemAttributes"] = {
            "AWSTraceHeader": {"StringValue": task.trace_id, "DataType": "String"}
        }
    return entry
