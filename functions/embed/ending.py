"""How a task's run ended, and what that makes of its row and its message. Pure."""

from dataclasses import dataclass, replace

from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import LedgerRow
from functions.core.retry_policy import GiveUp, RetryAfter, RetryPolicy
from functions.core.transitions import bury, complete, hand_back, settle, spend


@dataclass(frozen=True)
class Indexed:
    """The entry is in the index under this version."""

    content_hash: str | None
    chunks: int
    tokens: int = 0


@dataclass(frozen=True)
class Buried:
    """The tombstone is in the index under this version; a reason tells why it was skipped."""

    reason: str | None
    content_hash: str | None


@dataclass(frozen=True)
class Superseded:
    """The index holds a newer version."""


@dataclass(frozen=True)
class Failed:
    """The attempt failed; `stashed` when paid vectors wait for the next one."""

    failure: Failure
    content_hash: str | None = None
    stashed: bool = False


@dataclass(frozen=True)
class Untouched:
    """The run had no time left for it."""

    stashed: bool = False


# Charges nobody, but a message that no run has time for must end somewhere too.
NO_TIME = Failure(FailureKind.STORE_UNAVAILABLE, "no run had time for it")

Ending = Indexed | Buried | Superseded | Failed | Untouched


@dataclass(frozen=True)
class Conclusion:
    """What follows: a row to write, and the seconds after which the message comes again."""

    event: str
    metric: str
    row: LedgerRow | None = None
    again_in_seconds: float | None = None


def conclude(
    row: LedgerRow, ending: Ending, *, policy: RetryPolicy, model: str, jitter: float, now_ms: int
) -> Conclusion:
    """Turn an ending into the row's next state; the row knows its message's receives."""
    match ending:
        case Superseded():
            return Conclusion("task_superseded", "TasksSuperseded")
        case Indexed(content_hash, chunks, tokens):
            done = complete(
                replace(row, stashed=False),
                content_hash=content_hash,
                chunks=chunks,
                tokens=tokens,
                model=model,
                now_ms=now_ms,
            )
            return Conclusion("task_completed", "TasksCompleted", done)
        case Buried(reason, content_hash):
            done = bury(row, reason=reason, content_hash=content_hash, now_ms=now_ms)
            event, metric = (
                ("task_deleted", "TasksDeleted")
                if reason is None
                else ("task_skipped", "TasksSkipped")
            )
            return Conclusion(event, metric, done)
        case Untouched(stashed):
            back = replace(hand_back(row), stashed=row.stashed or stashed)
            step = policy.next_step(
                NO_TIME, attempts=row.attempts, receives=row.receive_count, jitter=jitter
            )
            if isinstance(step, GiveUp):
                return _after(step, settle(back, step, content_hash=None, now_ms=now_ms))
            return Conclusion("task_handed_back", "TasksHandedBack", back, step.delay_seconds)
        case Failed(failure, content_hash, stashed):
            spent = replace(spend(row, failure, now_ms=now_ms), stashed=row.stashed or stashed)
            step = policy.next_step(
                failure, attempts=spent.attempts, receives=row.receive_count, jitter=jitter
            )
            settled = settle(spent, step, content_hash=content_hash, now_ms=now_ms)
            return _after(step, settled)


def _after(step: RetryAfter | GiveUp, row: LedgerRow) -> Conclusion:
    if isinstance(step, RetryAfter):
        return Conclusion("task_failed", "TasksFailed", row, step.delay_seconds)
    # Handed back at once, without work, until SQS's own redrive moves it: a message that we
    # sent to the dead letters ourselves could not be redriven from the console.
    return Conclusion("task_given_up", "TasksGivenUp", row, 0)
