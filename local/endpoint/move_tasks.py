"""The calls on message move tasks, as AWS documents them: one task per queue at a time.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html
"""

import base64
import binascii
import json
import threading
from typing import TYPE_CHECKING, Any

from local.endpoint.move_task import RUNNING, MoveTask
from local.endpoint.protocols import AwsError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MAX_PER_SECOND = 500
MAX_RESULTS = 10


class MoveTasks:
    """The tasks of all queues, the newest first; kept in memory, as the queues are."""

    def __init__(self, sqs: "SQSClient") -> None:
        """Use a client of the engine."""
        self._sqs = sqs
        self._tasks: list[MoveTask] = []
        self._lock = threading.Lock()

    def start(self, *, source_arn: str, destination_arn: str | None, per_second: int | None) -> str:
        """Start a task and return its handle."""
        if per_second is not None and not 1 <= per_second <= MAX_PER_SECOND:
            raise _invalid(
                f"Value {per_second} for parameter MaxNumberOfMessagesPerSecond is invalid."
                f" Reason: Must be between 1 and {MAX_PER_SECOND}, if provided."
            )
        self._check_queues(source_arn, destination_arn)
        with self._lock:
            if any(task.is_active for task in self._of(source_arn)):
                raise _invalid(
                    "There is already a task running. Only one active task is allowed for a"
                    " source queue arn at a given time."
                )
            task = MoveTask(
                self._sqs,
                source_arn=source_arn,
                destination_arn=destination_arn,
                per_second=per_second,
            )
            self._tasks.insert(0, task)
            task.start()
        return task.handle

    def newest(self, source_arn: str, *, limit: int) -> list[dict[str, Any]]:
        """Describe the newest tasks of a queue."""
        if not 1 <= limit <= MAX_RESULTS:
            raise _invalid(
                f"Value {limit} for parameter MaxResults is invalid."
                f" Reason: Must be between 1 and {MAX_RESULTS}, if provided."
            )
        self._require_queue(source_arn, "SourceArn")
        return [task.described() for task in self._of(source_arn)[:limit]]

    def cancel(self, handle: str) -> int:
        """Cancel a running task and return how many messages it has moved."""
        try:
            json.loads(base64.b64decode(handle, validate=True))["taskId"]
        except (binascii.Error, ValueError, KeyError, TypeError) as error:
            raise _invalid("Value for parameter TaskHandle is invalid.") from error
        with self._lock:
            found = [task for task in self._tasks if task.handle == handle]
            if not found:
                raise _not_found("Task does not exist.")
            if found[0].status != RUNNING:
                raise _invalid("Only active tasks can be cancelled.")
            found[0].cancel()
        return found[0].moved

    def close(self) -> None:
        """Stop every task and wait for its end."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            task.wait()

    def _of(self, source_arn: str) -> list[MoveTask]:
        return [task for task in self._tasks if task.source_arn == source_arn]

    def _check_queues(self, source_arn: str, destination_arn: str | None) -> None:
        source_url = self._require_queue(source_arn, "SourceArn")
        if not self._sqs.list_dead_letter_source_queues(QueueUrl=source_url).get("queueUrls"):
            raise _invalid("Source queue must be configured as a Dead Letter Queue.")
        if destination_arn is None:
            return
        self._require_queue(destination_arn, "DestinationArn")
        if destination_arn == source_arn:
            raise _invalid("Source queue arn and destination queue arn cannot be the same.")
        if destination_arn.endswith(".fifo") != source_arn.endswith(".fifo"):
            raise _invalid("Source queue and destination queue must be of the same queue type.")

    def _require_queue(self, arn: str, parameter: str) -> str:
        if len(arn.split(":")) != 6:
            raise _invalid(
                f"You must use this format to specify the {parameter}:"
                " arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
            )
        try:
            return self._sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
        except self._sqs.exceptions.QueueDoesNotExist as error:
            raise _not_found(
                f"The resource that you specified for the {parameter} parameter doesn't exist."
            ) from error


def _invalid(message: str) -> AwsError:
    return AwsError("InvalidParameterValue", message)


def _not_found(message: str) -> AwsError:
    return AwsError("ResourceNotFoundException", message, status=404)
