"""Message + ledger row -> work it, or not: the one check at receive. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Message
from functions.core.retry_policy import GiveUp, RetryPolicy
from functions.core.task import Task
from functions.core.transitions import new_life, settle, spend, start

DIED = Failure(FailureKind.RESOURCE, "the run before this one did not come to an end")


class Verdict(StrEnum):
    """What to do with a received task; also the name of its log event."""

    WORK = "task_started"
    SUPERSEDED = "task_superseded"  # a newer version exists: acknowledged
    DONE = "task_done_before"  # completed at this version: acknowledged
    UNKNOWN = "task_unknown"  # no row, so nothing is owed: acknowledged
    DEAD = "task_dead"  # failed for good: handed back until SQS moves it to the dead letters


@dataclass(frozen=True)
class Admission:
    """The verdict; `row` is to be written when there is one."""

    verdict: Verdict
    row: LedgerRow | None = None


def admit(
    task: Task, message: Message, row: LedgerRow | None, *, policy: RetryPolicy, now_ms: int
) -> Admission:
    """Compare the task with what the ledger knows."""
    if row is None:
        return Admission(Verdict.UNKNOWN)
    if task.version != row.version:
        return Admission(Verdict.SUPERSEDED)
    if row.status.is_failed:
        # A message sent later than the failure was redriven: a new life. Its id would not
        # tell: two copies of one task would revive each other.
        if message.sent_ms <= (row.failed_ms or 0):
            return Admission(Verdict.DEAD)
        row = new_life(row)
    elif not row.status.is_open:
        return Admission(Verdict.DONE)
    elif _died(row, message):
        row = spend(row, DIED, now_ms=now_ms)
        step = policy.next_step(DIED, attempts=row.attempts, jitter=0)
        if isinstance(step, GiveUp):
            return Admission(Verdict.DEAD, settle(row, step, content_hash=None, now_ms=now_ms))
    started = start(
        row,
        receive_count=message.receive_count,
        max_attempts=policy.max_attempts,
        now_ms=now_ms,
    )
    return Admission(Verdict.WORK, started)


def _died(row: LedgerRow, message: Message) -> bool:
    """Tell whether an earlier run took this message and never came to an end."""
    return row.status is Status.PROCESSING and message.receive_count > row.receive_count > 0
