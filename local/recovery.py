"""What queues in memory lose with a restart is brought back from the ledger."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from functions.core.batches import batches
from functions.core.ledger_row import Group, LedgerRow
from functions.core.ports import Ledger, TaskQueue
from functions.sweep.requeue import ROUND_ROWS, Requeue
from local.memory.runtime import MemoryTelemetry

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

# A lane in which nothing moved for so long keeps what it has, and the stack starts without.
MOVE_SECONDS = 30.0


def send_open_again(ledger: Ledger, queue: TaskQueue) -> tuple[int, int]:
    """Requeue every open row now; return how many were sent, of how many."""
    step = Requeue(ledger, queue, MemoryTelemetry(), lambda: time.time_ns() // 1_000_000)
    keys = [row.row_key for row in ledger.listed([Group.OPEN, Group.PARKED])]
    return step.requeue(keys), len(keys)


def bring_dead_letters_back(
    ledger: Ledger,
    queue: TaskQueue,
    sqs: "SQSClient",
    lanes: Mapping[str, Mapping[str, str]],
    *,
    seconds: float = MOVE_SECONDS,
) -> tuple[int, int]:
    """Make a dead letter of every document that was given up; return how many, of how many.

    `lanes` has the URLs of each target's lanes.
    Only while nothing reads the lanes, and they are empty: each task goes through its own lane, and
    SQS moves it, so that the dead letter knows where it came from, as the move task needs it.
    """
    count, sent = 0, 0
    for rows in batches(list(_given_up(ledger)), ROUND_ROWS):
        tasks = [row.task for row in rows]
        count += len(tasks)
        sent += len(tasks) - len(queue.send(tasks))
    stay = sum(_move(sqs, url, seconds) for urls in lanes.values() for url in urls.values())
    return sent - stay, count


def _move(sqs: "SQSClient", url: str, seconds: float) -> int:
    """Receive until the lane is empty; return what is left when nothing moves any more."""
    left, deadline = _messages(sqs, url), time.monotonic() + seconds
    while left and time.monotonic() < deadline:
        # Visible again at once, until SQS has given it out too often.
        sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        now = _messages(sqs, url)
        if now < left:
            left, deadline = now, time.monotonic() + seconds
    return left


def _given_up(ledger: Ledger) -> Iterator[LedgerRow]:
    for keys in batches([row.row_key for row in ledger.listed([Group.FAILED])], ROUND_ROWS):
        rows = ledger.read(keys).values()
        yield from (row for row in rows if row.status.is_failed)


def _messages(sqs: "SQSClient", url: str) -> int:
    """Count hidden messages too: one that was just given out is hidden for a moment."""
    found = sqs.get_queue_attributes(
        QueueUrl=url,
        AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
    )
    return sum(int(count) for count in found["Attributes"].values())
