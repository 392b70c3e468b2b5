"""The lanes on each engine: the port, and what SQS and Lambda do around it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

import pytest

from functions.adapters.sqs_tasks import SqsTasks, parse_messages
from functions.core.lane import Lane
from functions.core.ports import Message, TaskQueue
from local.memory.queues import DEAD_LETTERS, MemoryQueues
from local.memory.runtime import MovableClock
from tests.contract.engines import aws_client

MAX_RECEIVES = 3
VISIBILITY_SECONDS = 600
TARGET = "default"
# One of each kind: a FIFO lane, a standard one.
LANES = (Lane.NORMAL, Lane.BULK)
# The queue of a source that was sequential once.
FORMER = "sequential-articles"


class QueueEngine(Protocol):
    """Lanes of one target; a message is moved to the dead letters after MAX_RECEIVES receives."""

    @property
    def tasks(self) -> TaskQueue: ...

    def receive(self, lane: Lane, most: int = 10) -> list[Message]:
        """Receive what is visible now."""

    def receive_after(self, lane: Lane, seconds: int) -> list[Message]:
        """Receive what has become visible when so many seconds have passed."""

    def acknowledge(self, message: Message) -> None:
        """Delete a message, as Lambda does; a stale receipt is not an error."""

    def dead_letters(self, lane: Lane) -> list[str]:
        """Return the bodies of the dead letters."""

    def redrive(self, lane: Lane) -> None:
        """Move the dead letters back, as StartMessageMoveTask does."""


@dataclass
class MemoryEngine:
    """The lanes in memory, on a clock that is moved."""

    clock: MovableClock = field(default_factory=MovableClock)

    def __post_init__(self) -> None:
        self.tasks = MemoryQueues(
            self.clock, visibility_seconds=VISIBILITY_SECONDS, max_receive_count=MAX_RECEIVES
        )
        self.tasks.gone = {f"{TARGET}/{FORMER}"}

    def receive(self, lane: Lane, most: int = 10) -> list[Message]:
        return self.tasks.receive(f"{TARGET}/{lane}", most)

    def receive_after(self, lane: Lane, seconds: int) -> list[Message]:
        self.clock.advance(seconds)
        return self.receive(lane)

    def acknowledge(self, message: Message) -> None:
        self.tasks.acknowledge(message)

    def dead_letters(self, lane: Lane) -> list[str]:
        dead = self.tasks.receive(f"{TARGET}/{lane}/{DEAD_LETTERS}", 10)
        self.tasks.hide([(message, 0) for message in dead])
        return [message.body for message in dead]

    def redrive(self, lane: Lane) -> None:  # noqa: ARG002
        self.clock.advance(1)
        self.tasks.redrive()


class SqsEngine:
    """The lanes behind the SQS API."""

    def __init__(self, sqs: Any) -> None:
        self.sqs = sqs
        name = uuid4()
        self.dead_urls = {lane: self._create(f"{name}-{lane}-dead", lane, {}) for lane in LANES}
        self.urls = {
            lane: self._create(
                f"{name}-{lane}",
                lane,
                {
                    "VisibilityTimeout": str(VISIBILITY_SECONDS),
                    "RedrivePolicy": json.dumps(
                        {
                            "deadLetterTargetArn": self.arn(self.dead_urls[lane]),
                            "maxReceiveCount": MAX_RECEIVES,
                        }
                    ),
                },
            )
            for lane in LANES
        }
        self.tasks = SqsTasks(sqs, {TARGET: {str(lane): url for lane, url in self.urls.items()}})

    def receive(self, lane: Lane, most: int = 10) -> list[Message]:
        return self._receive(self.urls[lane], most)

    def receive_after(self, lane: Lane, seconds: int) -> list[Message]:
        # A long poll answers as soon as there is something; it is no sleep.
        return self._receive(self.urls[lane], 10, wait_seconds=seconds + 5)

    def acknowledge(self, message: Message) -> None:
        [url] = [url for url in self.urls.values() if url.endswith(f"/{message.queue}")]
        entry = {"Id": "0", "ReceiptHandle": message.receipt_handle}
        self.sqs.delete_message_batch(QueueUrl=url, Entries=[entry])

    def dead_letters(self, lane: Lane) -> list[str]:
        url = self.dead_urls[lane]
        answer = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return [message["Body"] for message in answer.get("Messages", [])]

    def redrive(self, lane: Lane) -> None:
        self.sqs.start_message_move_task(SourceArn=self.arn(self.dead_urls[lane]))

    def arn(self, url: str) -> str:
        answer = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return str(answer["Attributes"]["QueueArn"])

    def _create(self, name: str, lane: Lane, attributes: dict[str, str]) -> str:
        if lane.is_fifo:
            name, attributes = f"{name}.fifo", {**attributes, "FifoQueue": "true"}
        return str(self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def _receive(self, url: str, most: int, *, wait_seconds: int = 0) -> list[Message]:
        answer = self.sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=most,
            WaitTimeSeconds=wait_seconds,
            MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
        )
        arn = self.arn(url)
        return parse_messages(_record(message, arn) for message in answer.get("Messages", []))


def _record(message: dict[str, Any], arn: str) -> dict[str, Any]:
    """Spell a received message as Lambda does in an event."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "eventSourceARN": arn,
    }


@contextmanager
def queue_engine(request: pytest.FixtureRequest, engine: str) -> Iterator[QueueEngine]:
    """Make empty lanes."""
    if engine == "memory":
        yield MemoryEngine()
    else:
        with aws_client(request, "sqs", engine=engine, fixture="sqs_url") as sqs:
            yield SqsEngine(sqs)
