"""Endings -> rows: what each one makes of the ledger and the message."""

from dataclasses import replace
from typing import Any

import pytest

from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.retry_policy import Healing, RetryPolicy, RetrySettings
from functions.embed.ending import (
    Conclusion,
    Ending,
    Failed,
    Indexed,
    Removed,
    Rules,
    Superseded,
    Untouched,
    conclude,
)
from tests.builders import NOW_MS, make_row

WORKED = make_row(status=Status.PROCESSING, attempts=1, receive_count=1, stashed=True)
BROKEN = Failure(FailureKind.PROVIDER_ERROR, "503")


RETRY = RetrySettings(default=RetryPolicy(max_attempts=3))


def end(ending: Ending, row: LedgerRow = WORKED, **settings: Healing) -> Conclusion:
    retry = RETRY.model_copy(update=settings)
    return conclude(row, ending, Rules(retry, "m", completed_row_days=30), now_ms=NOW_MS)


def row_of(conclusion: Conclusion) -> LedgerRow:
    assert conclusion.row is not None
    return conclusion.row


def test_indexed_completes() -> None:
    """R27 R28 R46: what the index holds, what it cost, and when the row may go."""
    row = row_of(end(Indexed("hash", 3, tokens=42)))

    assert (row.status, row.outcome.content_hash, row.progress.attempts) == (
        Status.COMPLETED,
        "hash",
        2,
    )
    assert (
        row.indexed.chunks_total,
        row.indexed.chunks_done,
        row.indexed.tokens,
        row.indexed.model,
    ) == (3, 3, 42, "m")
    assert (row.outcome.completed_ms, row.outcome.expires_at) == (
        NOW_MS,
        NOW_MS // 1000 + 30 * 24 * 3600,
    )
    assert row.stashed is False


@pytest.mark.parametrize(
    ("reason", "status"), [(None, Status.DELETED), ("the text is empty", Status.SKIPPED)]
)
def test_removed_is_deleted_or_skipped(reason: str | None, status: Status) -> None:
    """R07 R32: a reason tells why a document that exists is not found; neither row expires."""
    row = row_of(end(Removed(reason, "hash")))

    assert row.stashed is False
    assert (row.status, row.outcome.reason, row.outcome.expires_at) == (status, reason, None)
    assert row.outcome.content_hash == "hash"


def test_failed_attempt_waits_for_the_next() -> None:
    """R20 R28: backoff, the error in the history, the time of the next attempt."""
    conclusion = end(Failed(BROKEN, "hash"))
    row = row_of(conclusion)

    assert conclusion.again_in_seconds == 8
    assert (row.status, row.progress.attempts, row.progress.next_attempt_ms) == (
        Status.PENDING,
        2,
        NOW_MS + 8000,
    )
    assert not row.progress.parked
    assert [(error.kind, error.message) for error in row.errors] == [("provider_error", "503")]
    assert row.outcome.content_hash is None


@pytest.mark.parametrize(
    ("changes", "again_in_seconds"),
    [({}, 16.0), ({"jitter": 0.5}, 12.0), ({"is_failing": True}, None)],
)
def test_rules_of_the_run_decide_too(
    changes: dict[str, Any], again_in_seconds: float | None
) -> None:
    """R20 R26: the random share of a delay, and fewer attempts while most requests fail."""
    retry = RetrySettings(default=RetryPolicy(max_attempts=5, jitter=0.5))
    row = replace(WORKED, progress=replace(WORKED.progress, attempts=2))

    ended = conclude(row, Failed(BROKEN), Rules(retry, "m", 30, **changes), now_ms=NOW_MS)

    assert ended.again_in_seconds == again_in_seconds


def test_last_attempt_closes_the_row() -> None:
    """R24 R28: out of attempts; the same text written again is tried again."""
    last = make_row(status=Status.PROCESSING, attempts=2)
    conclusion = end(Failed(BROKEN, "hash"), last, healing=Healing(hours=0))
    row = row_of(conclusion)

    assert conclusion.again_in_seconds == 0
    assert (row.status, row.outcome.failed_ms, row.outcome.content_hash) == (
        Status.FAILED_MAX_RETRIES,
        NOW_MS,
        None,
    )


def test_permanent_failure_keeps_the_hash_of_what_failed() -> None:
    """R24: a counter ticking on a poison document does not flood the dead letters."""
    row = row_of(end(Failed(Failure(FailureKind.INVALID_INPUT, "no"), "hash")))

    assert (row.status, row.outcome.content_hash, row.outcome.reason) == (
        Status.FAILED,
        "hash",
        "invalid_input: no",
    )


def test_throttled_attempt_is_a_free_retry() -> None:
    """R23: a 429 spends nothing."""
    conclusion = end(Failed(Failure(FailureKind.THROTTLED, "429", 30)))
    row = row_of(conclusion)

    assert (row.progress.attempts, row.progress.next_attempt_ms) == (1, NOW_MS + 30_000)
    assert (row.progress.parked, conclusion.again_in_seconds) == (True, None)


def test_long_delay_is_parked() -> None:
    """R20: the message is acknowledged, so that a newer version does not wait behind it."""
    slow = RetryPolicy(base_seconds=300, cap_seconds=3600)
    conclusion = conclude(
        WORKED, Failed(BROKEN), Rules(RetrySettings(default=slow), "m", 30), now_ms=NOW_MS
    )
    row = row_of(conclusion)

    assert (row.status, row.progress.parked, row.progress.next_attempt_ms) == (
        Status.PENDING,
        True,
        NOW_MS + 600_000,
    )
    assert (row.group, conclusion.again_in_seconds) == (Group.PARKED, None)


def test_policy_is_that_of_the_documents_type() -> None:
    """R21: another type, another number of attempts."""
    retry = RetrySettings(types={"archive": RetryPolicy(max_attempts=1)}, healing=Healing(hours=0))
    row = make_row(status=Status.PROCESSING, type="archive")

    conclusion = conclude(row, Failed(BROKEN), Rules(retry, "m", 30), now_ms=NOW_MS)

    assert row_of(conclusion).status is Status.FAILED_MAX_RETRIES


def test_transient_failure_out_of_attempts_heals() -> None:
    """R30: failed for now, and tried again later; the dead letters are for what needs a person."""
    conclusion = end(Failed(BROKEN), make_row(status=Status.PROCESSING, attempts=2))
    row = row_of(conclusion)

    assert (row.status, row.progress.heals, row.group) == (Status.FAILED, 1, Group.HEALING)
    assert (row.progress.next_attempt_ms, row.progress.failing_since_ms) == (
        NOW_MS + 60_000,
        NOW_MS,
    )
    assert conclusion.again_in_seconds is None


def test_healing_comes_to_an_end() -> None:
    """R27 R30: a day after its attempts ran out it is a person's."""
    day_ms = 24 * 3_600_000
    failing = make_row(
        status=Status.PROCESSING, attempts=30, heals=25, failing_since_ms=NOW_MS - day_ms
    )
    conclusion = end(Failed(BROKEN), failing)

    assert row_of(conclusion).status is Status.FAILED_MAX_RETRIES
    assert conclusion.again_in_seconds == 0


def test_document_without_some_chunks_is_partially_completed() -> None:
    """R27: the progress counts them as done with; the row stays until a person has looked."""
    row = row_of(end(Indexed("hash", 8, chunks_failed=2)))

    assert row.status is Status.PARTIALLY_COMPLETED
    assert (row.indexed.chunks_total, row.indexed.chunks_done, row.indexed.chunks_failed) == (
        10,
        8,
        2,
    )
    assert (row.outcome.expires_at, row.group) == (None, Group.FAILED)


def test_untouched_goes_back_as_it_was() -> None:
    """R31: no attempt, no error."""
    conclusion = end(Untouched(stashed=True))
    row = row_of(conclusion)

    assert (row.status, row.progress.attempts, row.errors, row.stashed) == (
        Status.PENDING,
        1,
        (),
        True,
    )
    assert conclusion.again_in_seconds == 2


def test_document_that_no_run_has_time_for_spends_an_attempt_in_the_end() -> None:
    """R27: eight deliveries without time are the document's own trouble."""
    worked = make_row(status=Status.PROCESSING, receive_count=8)

    row = row_of(end(Untouched(stashed=True), worked))

    assert (row.progress.attempts, row.errors[-1].kind) == (1, "resource")
    assert row.stashed


def test_superseded_touches_no_row() -> None:
    """R05: the newer version's row is its own."""
    assert end(Superseded()) == Conclusion("task_superseded", "TasksSuperseded")


def test_history_is_bounded() -> None:
    """R28: the last ten errors, each with at most 500 characters."""
    row = WORKED
    for number in range(15):
        row = row_of(end(Failed(Failure(FailureKind.THROTTLED, f"{number} " + "x" * 600)), row))

    assert [error.message.split()[0] for error in row.errors] == [str(n) for n in range(5, 15)]
    assert {len(error.message) for error in row.errors} == {500}
