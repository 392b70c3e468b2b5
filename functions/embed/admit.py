"""Message + ledger row -> work it, or not: the one check at receive. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from functions.core.change import Operation
from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import LedgerRow, Quarantine, Status
from functions.core.next_step import (
    FREE_BASE_SECONDS,
    FREE_CAP_SECONDS,
    LAST_HIDING_RECEIVE,
    GiveUp,
    Park,
    RetryAfter,
    next_step,
)
from functions.core.ports import Message
from functions.core.retry_policy import RetrySettings
from functions.core.task import Task
from functions.core.transitions import (
    adopt,
    isolate,
    record_crash,
    record_failure,
    settle,
    start,
    start_over,
)
from functions.embed.ending import NO_TIME

CRASHED = Failure(FailureKind.RESOURCE, "a run crashed while it worked on this document alone")


class Verdict(StrEnum):
    """What to do with a received task; also the name of its log event."""

    WORK = "task_started"
    SUSPECT = "task_suspected"  # a run with it ended without an outcome: worked apart from others
    SUPERSEDED = "task_superseded"  # a newer version exists: acknowledged
    DONE = "task_done_before"  # completed at this version: acknowledged
    WAITS = "task_waits"  # parked or healing: the sweep sends it in time; acknowledged
    UNKNOWN = "task_unknown"  # no row, so there is nothing to do: acknowledged
    IN_WORK = "task_in_work"  # another run has this very message: returned until that run is over
    POSTPONED = "task_postponed"  # no time, or to be worked apart from this round: returned
    NOT_ANNOUNCED = "task_not_announced"  # the event of its end was refused: handed back
    DEAD = "task_dead"  # given up: handed back until SQS moves it to the dead letters


@dataclass(frozen=True)
class Admission:
    """The verdict; `row` is to be written when there is one."""

    verdict: Verdict
    row: LedgerRow | None = None


@dataclass(frozen=True)
class Terms:
    """What a run decides by: for whom the round is, and how much time there is."""

    retry: RetrySettings
    quarantine: Quarantine
    has_time: bool
    over_seconds: float  # after so long every run that has begun is over
    now_ms: int


def admit(task: Task, message: Message, row: LedgerRow | None, terms: Terms) -> Admission:
    """Compare the task with what the ledger knows."""
    if row is None:
        return Admission(Verdict.UNKNOWN)
    if task.version < row.task.version:
        return Admission(Verdict.SUPERSEDED)
    if task.version > row.task.version:
        row = adopt(row, task)
    if verdict := _without_work(message, row):
        return Admission(verdict)
    if row.status is Status.PROCESSING and message.message_id != row.progress.message_id:
        # Copies of one task become one: the other message, or the sweep, brings it back.
        return _parked(row, row.progress.quarantine, terms, terms.over_seconds)
    if quarantine_of(message, row) is not terms.quarantine:
        return Admission(Verdict.POSTPONED)
    return _work(message, row, terms)


def _without_work(message: Message, row: LedgerRow) -> Verdict | None:
    """Return the verdict on a task that is not worked now, and changes nothing in its row."""
    progress = row.progress
    if progress.parked or row.is_healing:
        return Verdict.WAITS
    if row.status.is_failed:
        # A message that was sent after those that were worked is a redriven one. Both times are
        # of SQS; so no message restarts itself, and each copy of a task can do so once.
        return None if message.sent_ms > progress.sent_ms else Verdict.DEAD
    if not row.status.is_open:
        return Verdict.DONE
    is_same = (message.message_id, row.status) == (progress.message_id, Status.PROCESSING)
    return Verdict.IN_WORK if is_same and message.receive_count <= progress.receive_count else None


def quarantine_of(message: Message, row: LedgerRow | None) -> Quarantine:
    """Return how far a task is kept apart: SQS counts the receives, the row has those worked.

    A receive without an outcome raises it by one step. A task with nothing to do has none.
    """
    if row is None:
        return Quarantine.NONE
    known = row.progress.quarantine
    is_same = message.message_id == row.progress.message_id
    worked = row.progress.receive_count if is_same else 0
    if row.status is Status.PROCESSING and is_same and message.receive_count > worked:
        return Quarantine(min(known + 1, Quarantine.ALONE))
    if row.status.is_failed or message.receive_count > worked + 1:
        return max(known, Quarantine.GROUP)
    return known


def has_started(message: Message, row: LedgerRow) -> bool:
    """Tell whether this very receive of a message is marked as in work."""
    worked = (row.progress.message_id, row.progress.receive_count)
    return row.status is Status.PROCESSING and worked == (message.message_id, message.receive_count)


def is_late(message: Message) -> bool:
    """Tell whether SQS will soon move a message to the dead letters."""
    return message.receive_count >= LAST_HIDING_RECEIVE


def crashes_of(row: LedgerRow) -> int:
    """Count the runs that crashed with a document alone, the last one included."""
    return row.progress.crashes + _has_crashed(row)


def _has_crashed(row: LedgerRow) -> bool:
    """Tell whether a run began with it alone, and did not end: a proven crash."""
    return row.status is Status.PROCESSING and row.progress.quarantine is Quarantine.ALONE


def _work(message: Message, row: LedgerRow, terms: Terms) -> Admission:
    if not terms.has_time and not is_late(message):
        return Admission(Verdict.POSTPONED)
    if row.status.is_failed:
        row = start_over(row)
    if _has_crashed(row):
        return _crashed(message, row, terms)
    if is_late(message) and (terms.quarantine or not terms.has_time):
        # Not proven: SQS must not move it to the dead letters for what others did.
        if not terms.has_time:
            row = record_failure(row, NO_TIME, now_ms=terms.now_ms)
        return _parked(row, terms.quarantine, terms, FREE_BASE_SECONDS)
    return _started(message, row, terms)


def _crashed(message: Message, row: LedgerRow, terms: Terms) -> Admission:
    crashed = record_crash(row, CRASHED, receive_count=message.receive_count, now_ms=terms.now_ms)
    step = next_step(
        CRASHED, crashed.progress, terms.retry, document_type=row.type, now_ms=terms.now_ms
    )
    if isinstance(step, RetryAfter):
        # It has waited for its visibility timeout already. One write: only what is started again
        # spends the attempt.
        return _started(message, crashed, terms)
    if isinstance(step, GiveUp) and row.operation is Operation.DELETE:
        # A document that is gone must leave the search.
        step = Park(FREE_CAP_SECONDS)
    settled = settle(crashed, step, content_hash=None, now_ms=terms.now_ms)
    return Admission(Verdict.DEAD if settled.is_given_up else Verdict.WAITS, settled)


def _started(message: Message, row: LedgerRow, terms: Terms) -> Admission:
    started = start(
        row,
        message,
        quarantine=terms.quarantine,
        max_attempts=terms.retry.policy(row.type).max_attempts,
        now_ms=terms.now_ms,
    )
    return Admission(Verdict.SUSPECT if terms.quarantine else Verdict.WORK, started)


def _parked(row: LedgerRow, quarantine: Quarantine, terms: Terms, seconds: float) -> Admission:
    """Let the ledger keep it; no attempt is spent."""
    step = Park(seconds)
    parked = settle(isolate(row, quarantine), step, content_hash=None, now_ms=terms.now_ms)
    return Admission(Verdict.WAITS, parked)
