"""How a ledger row goes through a task's life. Pure; each returns the row to be written."""

from dataclasses import replace

from functions.core.failure import Failure
from functions.core.ledger_row import (
    COMPLETED_ROW_SECONDS,
    MAX_MESSAGE_CHARACTERS,
    LedgerRow,
    Status,
)
from functions.core.next_step import GiveUp, Heal, Park, RetryAfter, Step, Tried


def start(row: LedgerRow, *, receive_count: int, max_attempts: int, now_ms: int) -> LedgerRow:
    """Mark that a run works on it."""
    return replace(
        row,
        status=Status.PROCESSING,
        receive_count=receive_count,
        max_attempts=max_attempts,
        last_attempt_ms=now_ms,
        next_attempt_ms=None,
        parked=False,
        sent=True,
    )


def new_life(row: LedgerRow) -> LedgerRow:
    """Forget the attempts of a row that a person sent again; the history stays."""
    return replace(
        row,
        attempts=0,
        waits=0,
        receive_count=0,
        heals=0,
        failing_since_ms=None,
        failed_ms=None,
        reason=None,
    )


def hand_back(row: LedgerRow) -> LedgerRow:
    """Put it back untouched: the run had no time for it."""
    return replace(row, status=Status.PENDING)


def spend(row: LedgerRow, failure: Failure, *, now_ms: int) -> LedgerRow:
    """Record a failed attempt, and charge it if the failure is the document's own."""
    charged = failure.kind.spends_attempt
    return replace(
        row.with_error(failure, now_ms=now_ms),
        attempts=row.attempts + charged,
        waits=0 if charged else row.waits + 1,
    )


def tried(row: LedgerRow, *, now_ms: int) -> Tried:
    """Tell what has been tried for a row, its last failure included."""
    return Tried(
        attempts=row.attempts,
        waits=row.waits,
        receives=row.receive_count,
        heals=row.heals,
        failing_ms=now_ms - (row.failing_since_ms or now_ms),
    )


def settle(row: LedgerRow, step: Step, *, content_hash: str | None, now_ms: int) -> LedgerRow:
    """Wait for the next attempt, or close the row as failed."""
    match step:
        case RetryAfter(delay) | Park(delay):
            return replace(
                row,
                status=Status.PENDING,
                next_attempt_ms=now_ms + round(delay * 1000),
                parked=isinstance(step, Park),
            )
        case Heal(delay, reason):
            return replace(
                _failed(row, reason, now_ms),
                next_attempt_ms=now_ms + round(delay * 1000),
                heals=row.heals + 1,
                failing_since_ms=row.failing_since_ms or now_ms,
            )
        case GiveUp(reason, is_permanent):
            failed = replace(_failed(row, reason, now_ms), next_attempt_ms=None)
            if not is_permanent:
                return replace(failed, status=Status.FAILED_MAX_RETRIES)
            # Kept for what failed for good: the same text again is nothing new, so that a
            # counter ticking on a poison document does not flood the dead letters.
            return replace(failed, content_hash=content_hash)


def _failed(row: LedgerRow, reason: str, now_ms: int) -> LedgerRow:
    return replace(
        row,
        status=Status.FAILED,
        failed_ms=now_ms,
        parked=False,
        reason=reason[:MAX_MESSAGE_CHARACTERS],
        content_hash=None,
    )


def complete(
    row: LedgerRow,
    *,
    content_hash: str | None,
    chunks: int,
    chunks_failed: int,
    tokens: int,
    model: str,
    now_ms: int,
) -> LedgerRow:
    """Close a row whose entry is in the index, whole or without some of its chunks."""
    return replace(
        _closed(row),
        status=Status.PARTIALLY_COMPLETED if chunks_failed else Status.COMPLETED,
        operation="upsert",
        attempts=row.attempts + 1,
        completed_ms=now_ms,
        reason=None,
        content_hash=content_hash,
        chunks_total=chunks + chunks_failed,
        chunks_done=chunks,
        chunks_failed=chunks_failed,
        model=model,
        tokens=tokens,
        # What is not whole stays until somebody has looked.
        expires_at=None if chunks_failed else now_ms // 1000 + COMPLETED_ROW_SECONDS,
    )


def bury(row: LedgerRow, *, reason: str | None, content_hash: str | None, now_ms: int) -> LedgerRow:
    """Close a row whose tombstone is in the index: deleted, or skipped for a reason."""
    return replace(
        _closed(row),
        status=Status.DELETED if reason is None else Status.SKIPPED,
        operation="delete",
        attempts=row.attempts + 1,
        completed_ms=now_ms,
        reason=reason,
        content_hash=content_hash,
        chunks_total=0,
        chunks_done=0,
        chunks_failed=0,
        tokens=0,
    )


def _closed(row: LedgerRow) -> LedgerRow:
    return replace(
        row,
        next_attempt_ms=None,
        parked=False,
        waits=0,
        heals=0,
        failing_since_ms=None,
        failed_ms=None,
    )
