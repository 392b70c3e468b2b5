"""A ledger row: the truth about one document in one target, and how it may change."""

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile

from functions.core.change import Position
from functions.core.failure import Failure, FailureKind
from functions.core.identity import DocumentId, RowKey, row_key
from functions.core.lane import Lane
from functions.core.task import Task

MAX_ERRORS = 10
MAX_MESSAGE_CHARACTERS = 500
COMPLETED_ROW_SECONDS = 30 * 24 * 3600


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
    def is_failed(self) -> bool:
        return self in (Status.FAILED, Status.FAILED_MAX_RETRIES)

    @property
    def is_searchable(self) -> bool:
        return self in (Status.COMPLETED, Status.PARTIALLY_COMPLETED)


class Group(StrEnum):
    """The rows that the sparse index lists, by who looks for them."""

    OPEN = "open"  # a message is on its way or being worked
    PARKED = "parked"  # the sweep is to send it when it is due
    HEALING = "healing"  # failed for now: the sweep sends it when it is due and all is quiet
    FAILED = "failed"  # a person is to look, and may retry it
    DELETED = "deleted"  # its tombstone is to be purged


@dataclass(frozen=True)
class ErrorRecord:
    """One line of a document's error history."""

    at_ms: int
    kind: str
    message: str


@dataclass(frozen=True)
class LedgerRow:
    """State and history of one document in one target."""

    target: str
    source: str
    document_id: DocumentId
    key: dict[str, dict[str, str]]
    version: int
    position: Position
    lane: Lane
    created_ms: int
    queued_ms: int
    written_ms: int  # when the application wrote the change, for freshness
    # Of the stored row that this one was read from, 0 before the first write. Every write
    # compares it, so that none is lost.
    revision: int = 0
    type: str = ""  # of the document, where it is known: chooses the retry policy
    operation: str = "upsert"  # what the last change or run meant: upsert or delete
    status: Status = Status.PENDING
    attempts: int = 0  # tries that count, of this version's change
    max_attempts: int = 0
    receive_count: int = 0  # of the message that was worked last
    last_attempt_ms: int | None = None
    next_attempt_ms: int | None = None
    waits: int = 0  # failures that charged nobody, since the last one that did
    parked: bool = False  # no message is on its way: the sweep sends it at next_attempt_ms
    sent: bool = True  # False: a message may be missing, the sweep makes sure of it
    heals: int = 0  # tries after the attempts ran out
    failing_since_ms: int | None = None  # when they ran out
    completed_ms: int | None = None
    failed_ms: int | None = None
    reason: str | None = None  # why it was skipped or failed
    errors: tuple[ErrorRecord, ...] = ()
    chunks_total: int = 0
    chunks_done: int = 0
    chunks_failed: int = 0
    # Of what the index holds (completed) or of what failed for good; else None.
    content_hash: str | None = None
    model: str = ""
    tokens: int = 0
    trace_id: str = ""
    stashed: bool = False  # paid vectors of an unfinished attempt wait in the stash
    expires_at: int | None = None  # epoch seconds, DynamoDB's time to live

    @property
    def row_key(self) -> RowKey:
        return row_key(self.target, self.source, self.document_id)

    @property
    def timeouts(self) -> int:
        """Count how often in a row the provider did not answer in time for this change."""
        kinds = [error.kind for error in reversed(self.errors)]
        trailing = len(list(takewhile(lambda kind: kind == FailureKind.TIMEOUT, kinds)))
        return min(trailing, self.attempts)

    @property
    def is_healing(self) -> bool:
        return self.status is Status.FAILED and self.next_attempt_ms is not None

    @property
    def group(self) -> Group | None:
        """Tell who looks for it; None: nothing is owed."""
        if self.status.is_open:
            return Group.PARKED if self.parked or not self.sent else Group.OPEN
        if self.is_healing:
            return Group.HEALING
        if self.status.is_failed or self.status is Status.PARTIALLY_COMPLETED:
            return Group.FAILED
        return Group.DELETED if self.status is Status.DELETED else None

    @property
    def due_ms(self) -> int:
        """Order it within its group: by what it waits for, or by when it was last touched."""
        touched = (self.last_attempt_ms, self.completed_ms, self.failed_ms)
        return self.next_attempt_ms or max(self.queued_ms, *(at or 0 for at in touched))

    @property
    def task(self) -> Task:
        """Build the task of this row's version."""
        return Task(
            target=self.target,
            source=self.source,
            document_id=self.document_id,
            key=self.key,
            version=self.version,
            lane=self.lane,
            trace_id=self.trace_id,
        )

    def with_error(self, failure: Failure, *, now_ms: int) -> "LedgerRow":
        """Append to the bounded history."""
        record = ErrorRecord(now_ms, str(failure.kind), failure.message[:MAX_MESSAGE_CHARACTERS])
        return replace(self, errors=(*self.errors, record)[-MAX_ERRORS:])


def next_version(previous: int, now_ms: int) -> int:
    """Order versions by count and by clock.

    The clock part lets a row that expired and comes back get a version above the index's.
    """
    return max(previous + 1, now_ms)
