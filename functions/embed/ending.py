"""How a task's run ended, and what that makes of its row and its message. Pure."""

from dataclasses import dataclass

from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import IndexedContent, LedgerRow, Status
from functions.core.next_step import (
    LAST_HIDING_RECEIVE,
    GiveUp,
    Heal,
    Park,
    RetryAfter,
    Step,
    next_step,
)
from functions.core.retry_policy import RetrySettings
from functions.core.transitions import (
    complete,
    hand_back,
    keep_stashed,
    record_failure,
    remove,
    settle,
)


@dataclass(frozen=True)
class Indexed:
    """The entry is in the index under this version; some chunks may have failed for good."""

    content_hash: str | None
    chunks: int
    chunks_failed: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class Removed:
    """The tombstone is in the index under this version; `reason` says why it was skipped."""

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


# A free retry, until LAST_HIDING_RECEIVE: a task that no run has time for is too large for one.
NO_TIME = Failure(FailureKind.NO_TIME, "the run had no time for it")
TOO_SLOW = Failure(FailureKind.RESOURCE, f"no run of {LAST_HIDING_RECEIVE} had time for it")

Ending = Indexed | Removed | Superseded | Failed | Untouched

# The log event and the metric of a row that is closed, by its status, and of one that is not, by
# the step that follows.
CLOSED = {
    Status.COMPLETED: ("task_completed", "TasksCompleted"),
    Status.PARTIALLY_COMPLETED: ("task_partially_completed", "TasksPartiallyCompleted"),
    Status.DELETED: ("task_deleted", "TasksDeleted"),
    Status.SKIPPED: ("task_skipped", "TasksSkipped"),
}
FOLLOWED = {
    RetryAfter: ("task_failed", "TasksRetried"),
    Park: ("task_parked", "TasksParked"),
    Heal: ("task_healing", "TasksHealing"),
    GiveUp: ("task_given_up", "TasksGivenUp"),
}
HANDED_BACK = ("task_handed_back", "TasksHandedBack")


@dataclass(frozen=True)
class Conclusion:
    """What follows: a row to write, and the seconds after which the message comes again."""

    event: str
    metric: str
    row: LedgerRow | None = None
    again_in_seconds: float | None = None  # None: acknowledged


@dataclass(frozen=True)
class Rules:
    """What decides about an ending besides the ending itself."""

    retry: RetrySettings
    model: str
    completed_row_days: int
    index_uuid: str = ""  # of the index, as it was known when the run began
    is_failing: bool = False  # many requests of this minute failed
    jitter: float = 0.0


def conclude(row: LedgerRow, ending: Ending, rules: Rules, *, now_ms: int) -> Conclusion:
    """Turn an ending into the row's next state; the row knows its message's receives."""
    match ending:
        case Superseded():
            return Conclusion("task_superseded", "TasksSuperseded")
        case Indexed(content_hash, chunks, chunks_failed, tokens):
            indexed = IndexedContent(chunks, chunks_failed, tokens, rules.model, rules.index_uuid)
            done = complete(
                row,
                indexed,
                content_hash=content_hash,
                kept_days=rules.completed_row_days,
                now_ms=now_ms,
            )
            return Conclusion(*CLOSED[done.status], done)
        case Removed(reason, content_hash):
            done = remove(row, reason=reason, content_hash=content_hash, now_ms=now_ms)
            return Conclusion(*CLOSED[done.status], done)
        case Untouched(stashed) if row.progress.receive_count < LAST_HIDING_RECEIVE:
            back = keep_stashed(hand_back(row), stashed)
            step = _step(back, NO_TIME, rules, now_ms)
            waiting = settle(back, step, content_hash=None, now_ms=now_ms)
            return Conclusion(*HANDED_BACK, waiting, _again_in_seconds(step))
        case Untouched(stashed):
            return conclude(row, Failed(TOO_SLOW, stashed=stashed), rules, now_ms=now_ms)
        case Failed(failure, content_hash, stashed):
            spent = keep_stashed(record_failure(row, failure, now_ms=now_ms), stashed)
            step = _step(spent, failure, rules, now_ms)
            settled = settle(spent, step, content_hash=content_hash, now_ms=now_ms)
            return Conclusion(*FOLLOWED[type(step)], settled, _again_in_seconds(step))


def _step(row: LedgerRow, failure: Failure, rules: Rules, now_ms: int) -> Step:
    return next_step(
        failure,
        row.progress,
        rules.retry,
        document_type=row.type,
        now_ms=now_ms,
        is_failing=rules.is_failing,
        jitter=rules.jitter,
    )


def _again_in_seconds(step: Step) -> float | None:
    match step:
        case RetryAfter(delay):
            return delay
        case GiveUp():
            # Handed back at once, without work, until SQS's own redrive moves it: a message that
            # we sent to the dead letters ourselves could not be redriven from the console.
            return 0
        case _:
            return None
