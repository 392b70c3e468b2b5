"""The check at receive, row by row."""

from typing import Any

import pytest

from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.retry_policy import Healing, RetryPolicy, RetrySettings
from functions.embed.admit import Admission, Verdict, admit
from tests.builders import NOW_MS, make_message, make_row, make_task

RETRY = RetrySettings(default=RetryPolicy(max_attempts=3), healing=Healing(hours=0))


def check(
    row: LedgerRow | None,
    version: int = NOW_MS,
    retry: RetrySettings = RETRY,
    **message: Any,
) -> Admission:
    return admit(
        make_task(version=version),
        make_message(**message),
        row,
        retry=retry,
        run_seconds=60,
        now_ms=NOW_MS + 360_000,
    )


def crashed(**changes: Any) -> LedgerRow:
    values: dict[str, Any] = {"status": Status.PROCESSING, "last_attempt_ms": NOW_MS}
    return make_row(**values | changes)


@pytest.mark.parametrize(
    ("row", "version", "verdict"),
    [
        (None, NOW_MS, Verdict.UNKNOWN),
        (make_row(), NOW_MS - 1, Verdict.SUPERSEDED),
        (make_row(status=Status.COMPLETED), NOW_MS - 1, Verdict.SUPERSEDED),
        (make_row(status=Status.COMPLETED), NOW_MS, Verdict.DONE),
        (make_row(status=Status.DELETED), NOW_MS, Verdict.DONE),
        (make_row(status=Status.SKIPPED), NOW_MS, Verdict.DONE),
        (make_row(status=Status.PENDING), NOW_MS, Verdict.WORK),
        (make_row(parked=True, next_attempt_ms=NOW_MS), NOW_MS, Verdict.WAITS),
        (make_row(sent=False, next_attempt_ms=NOW_MS), NOW_MS, Verdict.WORK),
        (make_row(status=Status.FAILED, next_attempt_ms=NOW_MS), NOW_MS, Verdict.WAITS),
        (make_row(status=Status.PROCESSING, receive_count=1), NOW_MS, Verdict.WORK),
    ],
)
def test_ledger_decides_about_a_task(row: LedgerRow | None, version: int, verdict: Verdict) -> None:
    """R05: superseded and finished tasks cost nothing."""
    assert check(row, version).verdict is verdict


def test_started_row_tells_what_runs() -> None:
    """R28: status, time, receives and the limit of attempts."""
    row = check(make_row(next_attempt_ms=5), receive_count=4).row

    assert row is not None
    assert (row.status, row.progress.receive_count, row.progress.max_attempts) == (
        Status.PROCESSING,
        4,
        3,
    )
    assert (row.progress.last_attempt_ms, row.progress.next_attempt_ms) == (NOW_MS + 360_000, None)


def test_run_that_died_makes_a_suspect() -> None:
    """R10 R22 R31: it spends one attempt and is worked alone; paid vectors may be stashed."""
    admission = check(crashed(receive_count=1), receive_count=2)

    row = admission.row
    assert admission.verdict is Verdict.SUSPECT
    assert row is not None
    assert (row.progress.attempts, [error.kind for error in row.errors]) == (1, ["resource"])
    assert (row.status, row.stashed) == (Status.PENDING, True)


def test_run_that_could_not_write_its_end_is_not_taken_for_dead() -> None:
    """R22: a ledger that was down is a free retry: the message came back too soon for a crash."""
    row = crashed(receive_count=1, last_attempt_ms=NOW_MS + 300_000)

    admission = check(row, receive_count=2)

    assert admission.verdict is Verdict.WORK
    assert admission.row is not None
    assert admission.row.progress.attempts == 0


@pytest.mark.parametrize(
    ("more_ms", "receive_count", "verdict"),
    [(0, 2, Verdict.WORK), (1, 2, Verdict.SUSPECT), (1, 1, Verdict.WORK)],
    ids=["as long as a run may take", "longer", "not received again"],
)
def test_run_counts_as_crashed_after_its_longest_time(
    more_ms: int, receive_count: int, verdict: Verdict
) -> None:
    """R22 R31: three times a run, and the longest that a message is hidden."""
    away_ms = round((3 * 60 + RETRY.max_hide_seconds) * 1000) + more_ms
    row = crashed(receive_count=1, last_attempt_ms=NOW_MS + 360_000 - away_ms)

    assert check(row, receive_count=receive_count).verdict is verdict


def test_document_that_kills_every_run_is_given_up() -> None:
    """R24 R31: it ends, with its reason, instead of killing for ever."""
    admission = check(crashed(receive_count=2, attempts=2), receive_count=3)

    assert admission.verdict is Verdict.DEAD
    assert admission.row is not None
    assert admission.row.status is Status.FAILED_MAX_RETRIES


def test_document_that_crashed_every_run_heals_where_healing_is_on() -> None:
    """R30 R31: its message is acknowledged, and the sweep sends it when it is due."""
    retry = RetrySettings(default=RetryPolicy(max_attempts=3))

    admission = check(crashed(receive_count=2, attempts=2), retry=retry, receive_count=3)

    assert admission.verdict is Verdict.WAITS
    assert admission.row is not None
    assert (admission.row.group, admission.row.progress.heals) == (Group.HEALING, 1)


@pytest.mark.parametrize(
    ("sent_ms", "verdict"), [(NOW_MS, Verdict.DEAD), (NOW_MS + 6, Verdict.WORK)]
)
def test_only_a_message_sent_after_the_failure_is_a_new_life(
    sent_ms: int, verdict: Verdict
) -> None:
    """R20 R41: a redriven task starts anew; another copy of the failed one does not."""
    failed = make_row(status=Status.FAILED, failed_ms=NOW_MS + 5, attempts=3, reason="bad")

    admission = check(failed, sent_ms=sent_ms)

    assert admission.verdict is verdict
    if verdict is Verdict.WORK:
        assert admission.row is not None
        assert (admission.row.progress.attempts, admission.row.outcome.reason) == (0, None)


def test_last_deliveries_are_not_spent_on_deaths() -> None:
    """R20 R31: a policy with many attempts parks it, so that SQS does not move it unexplained."""
    retry = RetrySettings(default=RetryPolicy(max_attempts=30))
    row = crashed(receive_count=7, attempts=7, last_attempt_ms=NOW_MS - 10_000_000)

    admission = admit(
        make_task(version=NOW_MS),
        make_message(receive_count=8),
        row,
        retry=retry,
        run_seconds=60,
        now_ms=NOW_MS,
    )

    assert admission.verdict is Verdict.WAITS
    assert admission.row is not None
    assert (admission.row.group, admission.row.progress.attempts) == (Group.PARKED, 8)
