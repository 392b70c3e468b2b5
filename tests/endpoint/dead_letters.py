"""Queues with dead letters in them, for the tests of move tasks."""

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ARN = "arn:aws:sqs:us-east-1:000000000000:"
LIMIT_SECONDS = 10


@dataclass(frozen=True)
class Lane:
    """A queue, its DLQ, and a client of both."""

    sqs: Any
    name: str
    dead_name: str

    @property
    def is_fifo(self) -> bool:
        return self.name.endswith(".fifo")

    @property
    def arn(self) -> str:
        return ARN + self.name

    @property
    def dead_arn(self) -> str:
        return ARN + self.dead_name

    @property
    def url(self) -> str:
        return str(self.sqs.get_queue_url(QueueName=self.name)["QueueUrl"])

    @property
    def dead_url(self) -> str:
        return str(self.sqs.get_queue_url(QueueName=self.dead_name)["QueueUrl"])

    def make_dead_letters(self, *bodies: str) -> list[str]:
        """Send messages and receive them until they are dead letters; return their ids."""
        ids = [str(self._send(body)["MessageId"]) for body in bodies]
        self.receive_until_dead(len(bodies))
        return ids

    def receive_until_dead(self, count: int) -> None:
        """Receive messages until so many are dead letters."""
        end = time.monotonic() + LIMIT_SECONDS
        while self.waiting(self.dead_url) < count:
            # maxReceiveCount is 1: the second look at a message moves it.
            self.receive(self.url, visibility=0)
            assert time.monotonic() < end, "the messages are no dead letters"

    def receive(self, url: str, *, visibility: int = 30) -> list[dict[str, Any]]:
        found = self.sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            VisibilityTimeout=visibility,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return list(found.get("Messages", []))

    def waiting(self, url: str) -> int:
        name = "ApproximateNumberOfMessages"
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])
        return int(found["Attributes"][name])

    def newest_task(self) -> dict[str, Any]:
        return dict(self.sqs.list_message_move_tasks(SourceArn=self.dead_arn)["Results"][0])

    def wait_for_task(self) -> dict[str, Any]:
        """Wait until the newest task is over and return it."""
        end = time.monotonic() + LIMIT_SECONDS
        while (task := self.newest_task())["Status"] in ("RUNNING", "CANCELLING"):
            assert time.monotonic() < end, "the task did not end"
        return task

    def _send(self, body: str) -> Any:
        fifo = {"MessageGroupId": "group", "MessageDeduplicationId": f"sent-{body}"}
        return self.sqs.send_message(
            QueueUrl=self.url,
            MessageBody=body,
            MessageAttributes={"trace": {"DataType": "String", "StringValue": f"of {body}"}},
            **(fifo if self.is_fifo else {}),
        )


def make_lane(client: Callable[[str], Any], *, fifo: bool, dead_name: str = "") -> Lane:
    """Make a queue whose messages are dead letters at their second receive."""
    sqs = client("sqs")
    suffix = ".fifo" if fifo else ""
    nature = {"FifoQueue": "true"} if fifo else {}
    name = f"lane-{uuid.uuid4().hex[:8]}"
    if not dead_name:
        dead_name = f"{name}-dead{suffix}"
        sqs.create_queue(QueueName=dead_name, Attributes=nature)
    policy = json.dumps({"deadLetterTargetArn": ARN + dead_name, "maxReceiveCount": 1})
    sqs.create_queue(QueueName=name + suffix, Attributes={**nature, "RedrivePolicy": policy})
    return Lane(sqs, name + suffix, dead_name)
