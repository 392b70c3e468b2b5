"""A ledger row: what is known about one document in one target. transitions.py changes it."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import takewhile

from functions.core.change import Operation, Position
from functions.core.failure import FailureKind
from functions.core.identity import RowKey
from functions.core.task import Task

# Stored with every row. Raise it when a stored value changes its meaning: code that knows less
# leaves such a row alone, so that a deployment taken back harms nothing.
SCHEMA = 2  # since then a row in work is stored as pending


class Status(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    PARTIALLY_COMPLETED = "partially_completed"
    FAILED = "failed"
    FAILED_MAX_RETRIES = "failed_max_retries"
    DELETED = "deleted"
    SKIPPED = "skipped"

    @property
    def is_open(self) -> bool:
        return self in (Status.PENDING, Status.PROCESSING)

    @property
    def listed(self) -> "Status":
        """Return it as the sparse index has it: what is in work is not told from pending."""
        return Status.PENDING if self is Status.PROCESSING else self

    @property
    def is_failed(self) -> bool:
        return self in (Status.FAILED, Status.FAILED_MAX_RETRIES)

    @property
    def is_searchable(self) -> bool:
        return self in (Status.COMPLETED, Status.PARTIALLY_COMPLETED)


class Group(StrEnum):
    """The lists of rows that the sparse index keeps."""

    OPEN = "open"  # a message is on its way or being worked
    PARKED = "parked"  # the sweep sends it when it is due
    OVER_BUDGET = "over_budget"  # the sweep sends it when its target may spend again
    HEALING = "healing"  # failed for now: the sweep sends it when it is due and all is quiet
    FAILED = "failed"  # a person looks at it, and may retry it
    DELETED = "deleted"  # its tombstone is to be purged


class Quarantine(IntEnum):
    """How far a task is kept apart from others, as runs with it ended without an outcome."""

    NONE = 0
    GROUP = 1  # worked with others like it, before the rest of the batch
    ALONE = 2  # worked alone and last: another crash is its own


@dataclass(frozen=True, slots=True)
class Progress:
    """What was tried for this version's change, and when it is tried again."""

    attempts: int = 0  # that count
    max_attempts: int = 0
    free_retries: int = 0  # failures that spent no attempt, since the last one that did
    provider_failures: int = 0  # provider errors and timeouts in a row, of those that did
    throttles: int = 0  # runs that ended with its request throttled, since it failed otherwise
    message_id: str = ""  # of the message that was worked last, of this version
    receive_count: int = 0  # of that message, when it was worked
    sent_ms: int = 0  # by the clock of SQS, the latest of the messages that were worked
    quarantine: Quarantine = Quarantine.NONE
    crashes: int = 0  # of runs that worked it alone
    last_attempt_ms: int | None = None
    next_attempt_ms: int | None = None
    parked: bool = False  # no message is on its way: the sweep sends it at next_attempt_ms
    over_budget: bool = False  # it is parked because the target's budget is used up
    sent: bool = True  # False: a message may be missing, the sweep sends one
    heals: int = 0  # tries after the attempts ran out
    failing_since_ms: int | None = None  # when they ran out


@dataclass(frozen=True, slots=True)
class Outcome:
    """How this version ended; empty while the row is open."""

    completed_ms: int | None = None
    failed_ms: int | None = None
    reason: str | None = None  # why it was skipped or failed
    content_hash: str | None = None  # of what the index holds, or of what failed for good
    expires_at: int | None = None  # epoch seconds, DynamoDB's time to live


@dataclass(frozen=True, slots=True)
class IndexedContent:
    """What the index got last, of this version or an earlier one."""

    chunks_done: int = 0
    chunks_failed: int = 0
    tokens: int = 0
    model: str = ""
    index_uuid: str = ""  # of the index, as it was known before the write

    @property
    def chunks_total(self) -> int:
        return self.chunks_done + self.chunks_failed


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """One line of a document's error history."""

    at_ms: int
    kind: FailureKind
    message: str


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """State and history of one document in one target."""

    task: Task  # the document and the target, and the version that is wanted
    position: Position
    operation: Operation  # of the last change or run
    status: Status
    created_ms: int
    queued_ms: int
    written_ms: int  # when the application wrote the change, for freshness; 0: no write is known
    # Of the stored row that this one was read from, 0 before the first write. Every write
    # compares it, so that none is lost.
    revision: int = 0
    type: str = ""  # of the document, where it is known: chooses the retry policy
    progress: Progress = Progress()
    outcome: Outcome = Outcome()
    indexed: IndexedContent = IndexedContent()
    stashed: bool = False  # paid vectors of an unfinished attempt wait in the stash
    errors: tuple[ErrorRecord, ...] = ()

    @property
    def row_key(self) -> RowKey:
        return self.task.row_key

    @property
    def timeouts(self) -> int:
        """Count how often in a row the provider did not answer in time for this change."""
        kinds = [error.kind for error in reversed(self.errors)]
        trailing = len(list(takewhile(lambda kind: kind is FailureKind.TIMEOUT, kinds)))
        return min(trailing, self.progress.attempts)

    @property
    def is_healing(self) -> bool:
        return self.status is Status.FAILED and self.progress.next_attempt_ms is not None

    @property
    def is_given_up(self) -> bool:
        return self.status.is_failed and not self.is_healing

    @property
    def group(self) -> Group | None:
        """The sweep group that lists this row; None if closed."""
        if self.status.is_open:
            if self.progress.parked and self.progress.over_budget:
                return Group.OVER_BUDGET
            waits = self.progress.parked or not self.progress.sent
            return Group.PARKED if waits else Group.OPEN
        if self.is_healing:
            return Group.HEALING
        if self.status.is_failed or self.status is Status.PARTIALLY_COMPLETED:
            return Group.FAILED
        return Group.DELETED if self.status is Status.DELETED else None

    @property
    def due_ms(self) -> int:
        """Order it within its group: by its next attempt, or by when it was last changed."""
        touched = (
            self.progress.last_attempt_ms,
            self.outcome.completed_ms,
            self.outcome.failed_ms,
        )
        return self.progress.next_attempt_ms or max(self.queued_ms, *(at or 0 for at in touched))

    @property
    def listed_ms(self) -> int:
        """Place it in the sparse index: where it is due, or before.

        A start does not move a new row there: each move costs two write units.
        """
        return self.queued_ms if self.status is Status.PROCESSING else self.due_ms


def next_version(previous: int, now_ms: int) -> int:
    """Order versions by count and by clock.

    The clock part lets a row that expired and comes back get a version above the index's.
    """
    return max(previous + 1, now_ms)
