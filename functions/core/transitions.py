"""How a ledger row goes through a task's life. Pure; each returns the row to be written."""

from dataclasses import replace

from functions.core.failure import Failure
from functions.core.ledger_row import (
    COMPLETED_ROW_SECONDS,
    MAX_MESSAGE_CHARACTERS,
    LedgerRow,
    Status,
)
from functions.core.retry_policy import GiveUp, RetryAfter


def start(row: LedgerRow, *, receive_count: int, max_attempts: int, now_ms: int) -> LedgerRow:
    """Mark that a run works on it."""
    return replace(
        row,
        status=Status.PROCESSING,
        receive_count=receive_count,
        max_attempts=max_attempts,
        last_attempt_ms=now_ms,
        next_attempt_ms=None,
    )


def new_life(row: LedgerRow) -> LedgerRow:
    """Forget the attempts of a row whose dead letter was redriven; the history stays."""
    return replace(row, attempts=0, receive_count=0, failed_ms=None, reason=None)


def hand_back(row: LedgerRow) -> LedgerRow:
    """Put it back untouched: the run had no time for it."""
    return replace(row, status=Status.PENDING)


def spend(row: LedgerRow, failure: Failure, *, now_ms: int) -> LedgerRow:
    """Record a failed attempt, and charge it if the failure is the document's own."""
    attempts = row.attempts + failure.kind.spends_attempt
    return replace(row.with_error(failure, now_ms=now_ms), attempts=attempts)


def settle(
    row: LedgerRow, step: RetryAfter | GiveUp, *, content_hash: str | None, now_ms: int
) -> LedgerRow:
    """Wait for the next attempt, or close the row as failed."""
    if isinstance(step, RetryAfter):
        due_ms = now_ms + round(step.delay_seconds * 1000)
        return replace(row, status=Status.PENDING, next_attempt_ms=due_ms)
    return replace(
        row,
        status=Status.FAILED if step.is_permanent else Status.FAILED_MAX_RETRIES,
        failed_ms=now_ms,
        next_attempt_ms=None,
        reason=step.reason[:MAX_MESSAGE_CHARACTERS],
        # Kept for what failed for good: the same text again is nothing new, so that a counter
        # ticking on a poison document does not flood the dead letters.
        content_hash=content_hash if step.is_permanent else None,
    )


def complete(
    row: LedgerRow, *, content_hash: str | None, chunks: int, tokens: int, model: str, now_ms: int
) -> LedgerRow:
    """Close a row whose entry is in the index."""
    return replace(
        row,
        status=Status.COMPLETED,
        operation="upsert",
        attempts=row.attempts + 1,
        completed_ms=now_ms,
        reason=None,
        content_hash=content_hash,
        chunks_total=chunks,
        chunks_done=chunks,
        chunks_failed=0,
        model=model,
        tokens=tokens,
        expires_at=now_ms // 1000 + COMPLETED_ROW_SECONDS,
    )


def bury(row: LedgerRow, *, reason: str | None, content_hash: str | None, now_ms: int) -> LedgerRow:
    """Close a row whose tombstone is in the index: deleted, or skipped for a reason."""
    return replace(
        row,
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
