"""The messages of a dead-letter queue. To look at one is to receive it: it is hidden meanwhile.

A dead-letter queue has no redrive policy of its own, so that a higher receive count does no harm.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from functions.core.batches import batches
from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.task import MalformedTaskError, Task, parse_task
from ops.output import CommandError, moment

# Long enough to look at all that a FIFO queue hands out (120,000); what is kept is shown again
# at the end, and after this time if the command is killed.
HIDDEN_SECONDS = 900
# With a wait SQS asks all its servers: an empty answer means that nothing is left.
WAIT_SECONDS = 1
MOST_RECEIVED = 10


@dataclass(frozen=True)
class DeadLetter:
    """One message."""

    message_id: str
    queue: str
    sent: datetime
    body: str
    receipt_handle: str

    @property
    def task(self) -> Task | None:
        """Return the task that it carries; None if embedq did not send it."""
        try:
            return parse_task(self.body)
        except MalformedTaskError:
            return None

    @property
    def row_key(self) -> RowKey | None:
        return self.task.row_key if self.task else None


@dataclass(frozen=True)
class Move:
    """How SQS moves the messages of a queue back."""

    handle: str
    moved: int
    total: int

    @property
    def left(self) -> int:
        return self.total - self.moved

    def stop(self, sqs: Any) -> int:
        """Let SQS stop; return how many messages it has moved."""
        if not self.handle:
            return self.moved
        answer = sqs.cancel_message_move_task(TaskHandle=self.handle)
        return int(answer["ApproximateNumberOfMessagesMoved"])


Chosen = Callable[[Sequence[DeadLetter]], Collection[DeadLetter]]


def nothing(letters: Sequence[DeadLetter]) -> Collection[DeadLetter]:
    """Remove none: only look."""
    del letters
    return ()


def visit(sqs: Any, url: str, removed: Chosen = nothing) -> Iterator[DeadLetter]:
    """Look at every dead letter once; remove those that are chosen, and show the others again."""
    kept: list[DeadLetter] = []
    try:
        while letters := _receive(sqs, url):
            chosen = removed(letters)
            _delete(sqs, url, [one for one in letters if one in chosen])
            kept += [one for one in letters if one not in chosen]
            yield from letters
    finally:
        _show_again(sqs, url, kept)


def is_obsolete(letter: DeadLetter, rows: Mapping[RowKey, LedgerRow]) -> bool:
    """Tell whether embed would acknowledge it without work: its document went on without it."""
    task = letter.task
    if task is None:
        return False
    row = rows.get(task.row_key)
    if row is None or row.task.version > task.version:
        return True
    return not (row.status.is_failed or row.status.is_open)


def move_all(sqs: Any, url: str, *, rate: int | None) -> None:
    """Let SQS move all messages back to the queues that they came from."""
    arn = queue_arn(sqs, url)
    limit = {} if rate is None else {"MaxNumberOfMessagesPerSecond": rate}
    sqs.start_message_move_task(SourceArn=arn, **limit)


def is_moving(sqs: Any, url: str) -> bool:
    """Tell whether SQS moves messages of a queue just now."""
    return move_of(sqs, url) is not None


def move_of(sqs: Any, url: str) -> Move | None:
    """Say how far SQS is with the messages of a queue; None if it moves none just now."""
    tasks = sqs.list_message_move_tasks(SourceArn=queue_arn(sqs, url), MaxResults=1)["Results"]
    for task in tasks:
        if task["Status"] in ("RUNNING", "CANCELLING"):
            moved = task.get("ApproximateNumberOfMessagesMoved", 0)
            total = task.get("ApproximateNumberOfMessagesToMove", moved)
            # A move that ends already has no handle.
            return Move(task.get("TaskHandle", ""), moved=moved, total=max(total, moved))
    return None


def queue_arn(sqs: Any, url: str) -> str:
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(answer["Attributes"]["QueueArn"])


def _receive(sqs: Any, url: str) -> list[DeadLetter]:
    answer = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=MOST_RECEIVED,
        VisibilityTimeout=HIDDEN_SECONDS,
        WaitTimeSeconds=WAIT_SECONDS,
        MessageSystemAttributeNames=["SentTimestamp"],
    )
    return [
        DeadLetter(
            message_id=message["MessageId"],
            queue=url.rsplit("/", 1)[-1],
            sent=moment(int(message["Attributes"]["SentTimestamp"])),
            body=message["Body"],
            receipt_handle=message["ReceiptHandle"],
        )
        for message in answer.get("Messages", [])
    ]


def _delete(sqs: Any, url: str, letters: Sequence[DeadLetter]) -> None:
    if not letters:
        return
    entries = [
        {"Id": str(number), "ReceiptHandle": one.receipt_handle}
        for number, one in enumerate(letters)
    ]
    failed = sqs.delete_message_batch(QueueUrl=url, Entries=entries).get("Failed", [])
    if failed:
        raise CommandError(f"SQS did not remove {len(failed)} dead letters: run it again")


def _show_again(sqs: Any, url: str, letters: Sequence[DeadLetter]) -> None:
    for part in batches(letters, MOST_RECEIVED):
        entries = [
            {"Id": str(number), "ReceiptHandle": one.receipt_handle, "VisibilityTimeout": 0}
            for number, one in enumerate(part)
        ]
        # What fails here comes back by itself.
        sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)
