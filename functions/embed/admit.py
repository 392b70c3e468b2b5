"""Message + ledger row -> work it, or not: the one check at receive. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import LedgerRow, Status
from functions.core.next_step import (
    LAST_HIDING_RECEIVE,
    GiveUp,
    Heal,
    Park,
    later_seconds,
    next_step,
)
from functions.core.ports import Message
from functions.core.retry_policy import RetrySettings
from functions.core.task import Task
from functions.core.transitions import record_crash, settle, start, start_over

CRASHED = Failure(FailureKind.RESOURCE, "the run before this one did not come to an end")


class Verdict(StrEnum):
    """What to do with a received task; also the name of its log event."""

    WORK = "task_started"
    SUSPECT = "task_suspected"  # a run crashed with it: worked alone after the others
    SUPERSEDED = "task_superseded"  # a newer version exists: acknowledged
    DONE = "task_done_before"  # completed at this version: acknowledged
    WAITS = "task_waits"  # parked or healing: the sweep sends it in time; acknowledged
    UNKNOWN = "task_unknown"  # no row, so there is nothing to do: acknowledged
    NOT_ANNOUNCED = "task_not_announced"  # given up, but its event was refused: handed back
    DEAD = "task_dead"  # given up: handed back until SQS moves it to the dead letters


@dataclass(frozen=True)
class Admission:
    """The verdict; `row` is to be written when there is one."""

    verdict: Verdict
    row: LedgerRow | None = None


def admit(
    task: Task,
    message: Message,
    row: LedgerRow | None,
    *,
    retry: RetrySettings,
    run_seconds: float,
    now_ms: int,
) -> Admission:
    """Compare the task with what the ledger knows; `run_seconds` is how long a run may take."""
    if row is None:
        return Admission(Verdict.UNKNOWN)
    if task.version != row.task.version:
        return Admission(Verdict.SUPERSEDED)
    if row.progress.parked or row.is_healing:
        return Admission(Verdict.WAITS)
    if row.status.is_failed:
        # A message sent later than the failure was redriven: its attempts start again. The id
        # would not show it: two copies of one task would restart each other.
        if message.sent_ms <= (row.outcome.failed_ms or 0):
            return Admission(Verdict.DEAD)
        row = start_over(row)
    elif not row.status.is_open:
        return Admission(Verdict.DONE)
    elif _has_crashed(row, message, retry, run_seconds, now_ms):
        return _suspect(row, message, retry, now_ms)
    started = start(
        row,
        receive_count=message.receive_count,
        max_attempts=retry.policy(row.type).max_attempts,
        now_ms=now_ms,
    )
    return Admission(Verdict.WORK, started)


def _suspect(row: LedgerRow, message: Message, retry: RetrySettings, now_ms: int) -> Admission:
    # Pending until its turn: only the one that is worked alone spends an attempt in the next crash.
    row = record_crash(row, CRASHED, receive_count=message.receive_count, now_ms=now_ms)
    step = next_step(CRASHED, row.progress, retry, document_type=row.type, now_ms=now_ms)
    settled = settle(row, step, content_hash=None, now_ms=now_ms)
    match step:
        case GiveUp():
            return Admission(Verdict.DEAD, settled)
        case Heal():
            return Admission(Verdict.WAITS, settled)
        case Park() if message.receive_count >= LAST_HIDING_RECEIVE:
            return Admission(Verdict.WAITS, settled)
        case _:
            # It has waited for the visibility timeout already.
            return Admission(Verdict.SUSPECT, row)


def _has_crashed(
    row: LedgerRow, message: Message, retry: RetrySettings, run_seconds: float, now_ms: int
) -> bool:
    """Tell whether an earlier run took this message and never came to an end.

    A run that ended, but could not write so, has returned its message within its own time and
    the longest hiding. A crashed one's comes after the visibility timeout: six runs long.
    """
    if row.status is not Status.PROCESSING or message.receive_count <= row.progress.receive_count:
        return False
    away_ms = now_ms - (row.progress.last_attempt_ms or now_ms)
    hidden = max(retry.max_hide_seconds, later_seconds(row.progress.receive_count))
    return away_ms > (3 * run_seconds + hidden) * 1000
