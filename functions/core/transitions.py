"""Every change of a ledger row, in the order of a task's way. Pure; each returns the new row."""

from dataclasses import replace
from typing import TYPE_CHECKING

from functions.core.change import NOWHERE, Change, Operation, Rejected
from functions.core.failure import Failure, FailureKind, Part
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import (
    ErrorRecord,
    IndexedContent,
    LedgerRow,
    Outcome,
    Progress,
    Quarantine,
    Status,
    next_version,
)
from functions.core.next_step import GiveUp, Heal, Park, RetryAfter, Step
from functions.core.task import Task

if TYPE_CHECKING:
    from functions.core.owing import Owed
    from functions.core.ports import Message

MAX_ERRORS = 10
MAX_MESSAGE_CHARACTERS = 500
DAY_SECONDS = 24 * 3600
# When the sweep sends what a queue did not take.
SEND_AGAIN_MS = 60 * 1000
# A sweep that crashes between the ledger and the queue leaves its row due then: this costs
# minutes, where an open row without a message would stay so for a day.
CONFIRM_MS = 5 * 60 * 1000


def accept(
    change: Change, row: LedgerRow | None, *, target: str, lane: Lane, trace_id: str, now_ms: int
) -> LedgerRow:
    """Give a change the next version of its document; history and what the index has stay."""
    task = Task(
        target=target,
        source=change.source,
        document_id=change.document_id,
        key={name: dict(value) for name, value in change.key.items()},
        version=next_version(row.task.version if row else 0, now_ms),
        lane=lane,
        trace_id=trace_id,
        tenant=_tenant(change, row),
    )
    first = LedgerRow(
        task=task,
        position=change.position,
        operation=change.operation,
        status=Status.PENDING,
        created_ms=now_ms,
        queued_ms=now_ms,
        written_ms=change.written_ms,
        type=change.type,
    )
    if row is None:
        return first
    return replace(
        first,
        created_ms=row.created_ms,
        revision=row.revision,
        type=first.type or row.type,
        progress=Progress(quarantine=row.progress.quarantine),
        indexed=row.indexed,
        stashed=_may_be_stashed(row),
        errors=row.errors,
    )


def owe(
    document: "Owed", row: LedgerRow | None, *, target: str, source: str, now_ms: int
) -> LedgerRow:
    """Give a document that is absent or closed a new version, without a change of its item.

    It keeps its place in the stream, or has none: every change that comes is newer.
    """
    change = Change(
        source=source,
        document_id=document.document_id,
        key=document.key,
        position=row.position if row else NOWHERE,
        sequence_number="",
        written_ms=0,
        removed=document.lane is Lane.DELETE,
    )
    owed = accept(change, row, target=target, lane=document.lane, trace_id="", now_ms=now_ms)
    # Above what the index holds, too: its row may have expired, or been restored from a backup.
    version = max(owed.task.version, document.above_version + 1)
    return replace(owed, task=replace(owed.task, version=version))


def reject(record: Rejected, *, target: str, now_ms: int) -> LedgerRow:
    """Record a stream record that names no document as failed."""
    document = DocumentId(f"stream record {record.event_id}")
    return LedgerRow(
        task=Task(target, record.source, document, {}, version=now_ms, lane=Lane.NORMAL),
        position=record.position,
        operation=Operation.UPSERT,
        status=Status.FAILED,
        created_ms=now_ms,
        queued_ms=now_ms,
        written_ms=now_ms,
        outcome=Outcome(failed_ms=now_ms, reason=record.reason),
    )


def leave_to_sweep(row: LedgerRow, *, now_ms: int) -> LedgerRow:
    """Let the sweep send the task that a queue did not take."""
    progress = replace(row.progress, sent=False, next_attempt_ms=now_ms + SEND_AGAIN_MS)
    return replace(row, progress=progress)


def requeue(row: LedgerRow, *, now_ms: int) -> LedgerRow:
    """Give a row the version that is sent next, to be confirmed; SQS drops a repeated one."""
    return replace(
        row,
        task=replace(row.task, version=next_version(row.task.version, now_ms)),
        status=Status.PENDING,
        queued_ms=now_ms,
        progress=replace(
            row.progress,
            message_id="",
            receive_count=0,
            sent_ms=0,
            next_attempt_ms=now_ms + CONFIRM_MS,
            parked=False,
            over_budget=False,
            sent=False,
        ),
        outcome=Outcome(),
        stashed=_may_be_stashed(row),
    )


def confirm_sent(row: LedgerRow) -> LedgerRow:
    """Note that the message of a requeued row is in its lane."""
    return replace(row, progress=replace(row.progress, sent=True, next_attempt_ms=None))


def start_over(row: LedgerRow) -> LedgerRow:
    """Let the attempts of a row start again at a person's wish; the history stays."""
    progress = Progress(quarantine=row.progress.quarantine)
    return replace(row, progress=progress, outcome=Outcome())


def schedule(row: LedgerRow, *, at_ms: int) -> LedgerRow:
    """Let the sweep send it at a time that a person chose, with all its attempts."""
    over = start_over(row)
    progress = replace(over.progress, next_attempt_ms=at_ms, parked=True)
    return replace(over, status=Status.PENDING, progress=progress)


def adopt(row: LedgerRow, task: Task) -> LedgerRow:
    """Take the version of a task that is newer than its row: the ledger was restored."""
    newer = replace(row.task, version=task.version)
    return replace(start_over(row), task=newer, status=Status.PENDING)


def put_in_lane(row: LedgerRow, lane: Lane) -> LedgerRow:
    """Change the lane that its next message takes."""
    return replace(row, task=replace(row.task, lane=lane))


def start(
    row: LedgerRow,
    message: "Message",
    *,
    quarantine: Quarantine,
    max_attempts: int,
    now_ms: int,
) -> LedgerRow:
    """Mark that a run works on it, and with which message."""
    progress = replace(
        row.progress,
        message_id=message.message_id,
        receive_count=message.receive_count,
        sent_ms=max(row.progress.sent_ms, message.sent_ms),
        quarantine=quarantine,
        max_attempts=max_attempts,
        last_attempt_ms=now_ms,
        next_attempt_ms=None,
        parked=False,
        over_budget=False,
        sent=True,
    )
    stashed = _may_be_stashed(row)
    return replace(row, status=Status.PROCESSING, progress=progress, stashed=stashed)


def hand_back(row: LedgerRow) -> LedgerRow:
    """Put it back without an attempt."""
    return replace(row, status=Status.PENDING)


def keep_stashed(row: LedgerRow, stashed: bool) -> LedgerRow:
    """Note that this run, or one before it, has stashed vectors."""
    return replace(row, stashed=row.stashed or stashed)


def isolate(row: LedgerRow, quarantine: Quarantine) -> LedgerRow:
    """Note how far it is kept apart; a run that has not ended may have stashed vectors."""
    progress = replace(row.progress, quarantine=quarantine)
    return replace(hand_back(row), progress=progress, stashed=_may_be_stashed(row))


def record_crash(row: LedgerRow, crash: Failure, *, receive_count: int, now_ms: int) -> LedgerRow:
    """Spend an attempt for a run that crashed while it worked on this document alone."""
    progress = replace(row.progress, receive_count=receive_count, crashes=row.progress.crashes + 1)
    crashed = replace(hand_back(row), progress=progress, stashed=True)
    return record_failure(crashed, crash, now_ms=now_ms)


def record_failure(row: LedgerRow, failure: Failure, *, now_ms: int) -> LedgerRow:
    """Record a failed attempt, and spend it unless the failure is a free retry."""
    spends = failure.kind.spends_attempt
    progress = replace(
        row.progress,
        attempts=row.progress.attempts + spends,
        free_retries=0 if spends else row.progress.free_retries + 1,
        over_budget=failure.kind is FailureKind.BUDGET,
    )
    if failure.kind.traits.breaker is Part.PROVIDER:
        progress = replace(progress, provider_failures=progress.provider_failures + 1)
    elif failure.kind is FailureKind.THROTTLED:
        progress = replace(progress, throttles=progress.throttles + failure.is_asked)
    elif spends:
        progress = replace(progress, provider_failures=0, throttles=0)
    if spends and not row.progress.crashes:
        # A run came to an end with it: it is not what crashed the runs before.
        progress = replace(progress, quarantine=Quarantine.NONE)
    if failure.kind is FailureKind.TENANT_BUDGET:
        # All that waited for the next day comes at once: other tenants must not wait for it.
        row = put_in_lane(row, row.task.lane.heals_in)
    return replace(_with_error(row, failure, now_ms), progress=progress)


def settle(row: LedgerRow, step: Step, *, content_hash: str | None, now_ms: int) -> LedgerRow:
    """Wait for the next attempt, or close the row as failed."""
    match step:
        case RetryAfter(delay) | Park(delay):
            parked = isinstance(step, Park)
            return replace(_due_in(row, delay, now_ms, parked=parked), status=Status.PENDING)
        case Heal(delay, reason):
            waiting = _due_in(row, delay, now_ms, parked=False)
            progress = replace(
                waiting.progress,
                heals=row.progress.heals + 1,
                failing_since_ms=row.progress.failing_since_ms or now_ms,
            )
            return _failed(replace(row, progress=progress), reason, now_ms)
        case GiveUp(reason, is_permanent):
            over = replace(row.progress, next_attempt_ms=None, parked=False)
            failed = _failed(replace(row, progress=over), reason, now_ms)
            if not is_permanent:
                return replace(failed, status=Status.FAILED_MAX_RETRIES)
            # The hash is kept for what failed for good: the same text again is unchanged, so
            # that rewrites of a poison document do not flood the dead letters.
            return replace(failed, outcome=replace(failed.outcome, content_hash=content_hash))


def give_up_stuck(row: LedgerRow, cause: Failure, *, now_ms: int) -> LedgerRow:
    """Close a row that was stuck once too often."""
    reason = f"stuck after {row.progress.attempts} attempts: {cause.message}"
    step = GiveUp(reason, is_permanent=False)
    return settle(_with_error(row, cause, now_ms), step, content_hash=None, now_ms=now_ms)


def complete(
    row: LedgerRow,
    indexed: IndexedContent,
    *,
    content_hash: str | None,
    kept_days: int,
    now_ms: int,
) -> LedgerRow:
    """Close a row whose entry is in the index, whole or without some of its chunks."""
    is_whole = not indexed.chunks_failed
    # What is not whole stays until a person has looked.
    expires_at = now_ms // 1000 + kept_days * DAY_SECONDS if is_whole else None
    return replace(
        _closed(row),
        status=Status.COMPLETED if is_whole else Status.PARTIALLY_COMPLETED,
        operation=Operation.UPSERT,
        outcome=Outcome(completed_ms=now_ms, content_hash=content_hash, expires_at=expires_at),
        indexed=indexed,
    )


def remove(
    row: LedgerRow, *, reason: str | None, content_hash: str | None, now_ms: int
) -> LedgerRow:
    """Close a row whose tombstone is in the index: deleted, or skipped for a reason."""
    return replace(
        _closed(row),
        status=Status.DELETED if reason is None else Status.SKIPPED,
        operation=Operation.DELETE,
        outcome=Outcome(completed_ms=now_ms, reason=reason, content_hash=content_hash),
        indexed=IndexedContent(model=row.indexed.model),
    )


def _tenant(change: Change, row: LedgerRow | None) -> str:
    """Return the tenant; a delete does not carry it."""
    if change.tenant is not None:
        return change.tenant
    return row.task.tenant if row is not None else ""


def _closed(row: LedgerRow) -> LedgerRow:
    progress = Progress(
        attempts=row.progress.attempts + 1,
        max_attempts=row.progress.max_attempts,
        receive_count=row.progress.receive_count,
        last_attempt_ms=row.progress.last_attempt_ms,
    )
    return replace(row, progress=progress, stashed=False)


def _may_be_stashed(row: LedgerRow) -> bool:
    """Tell whether the stash may hold vectors: a run that has not ended may have put some there."""
    return row.stashed or row.status is Status.PROCESSING


def _due_in(row: LedgerRow, seconds: float, now_ms: int, *, parked: bool) -> LedgerRow:
    due_ms = now_ms + round(seconds * 1000)
    return replace(row, progress=replace(row.progress, next_attempt_ms=due_ms, parked=parked))


def _failed(row: LedgerRow, reason: str, now_ms: int) -> LedgerRow:
    outcome = Outcome(failed_ms=now_ms, reason=reason[:MAX_MESSAGE_CHARACTERS])
    return replace(row, status=Status.FAILED, outcome=outcome)


def _with_error(row: LedgerRow, failure: Failure, now_ms: int) -> LedgerRow:
    record = ErrorRecord(now_ms, failure.kind, failure.message[:MAX_MESSAGE_CHARACTERS])
    return replace(row, errors=(*row.errors, record)[-MAX_ERRORS:])
