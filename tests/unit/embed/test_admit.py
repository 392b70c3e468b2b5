"""The check at receive, row by row."""

from typing import Any

import pytest

from functions.core.change import Operation
from functions.core.ledger_row import Group, LedgerRow, Quarantine, Status
from functions.core.next_step import LAST_HIDING_RECEIVE
from functions.core.retry_policy import Healing, RetryPolicy, RetrySettings
from functions.embed.admit import (
    Admission,
    Terms,
    Verdict,
    admit,
    crashes_of,
    has_started,
    quarantine_of,
)
from tests.builders import NOW_MS, make_message, make_row, make_task

RETRY = RetrySettings(default=RetryPolicy(max_attempts=3), healing=Healing(hours=0))
LATER_MS = NOW_MS + 360_000
OVER_SECONDS = 150.0
NONE, GROUP, ALONE = Quarantine


def check(
    row: LedgerRow | None,
    version: int = NOW_MS,
    *,
    quarantine: Quarantine | None = None,
    has_time: bool = True,
    retry: RetrySettings = RETRY,
    **message: Any,
) -> Admission:
    """Admit in a round of the task's own quarantine, if no other is given."""
    received = make_message(**message)
    level = quarantine_of(received, row) if quarantine is None else quarantine
    terms = Terms(retry, level, has_time, OVER_SECONDS, LATER_MS)
    return admit(make_task(version=version), received, row, terms)


def in_work(receive_count: int = 1, **changes: Any) -> LedgerRow:
    """Make the row of a task that a run has begun with."""
    values: dict[str, Any] = {
        "status": Status.PROCESSING,
        "message_id": "message-1",
        "receive_count": receive_count,
        "sent_ms": NOW_MS,
        "last_attempt_ms": NOW_MS,
    }
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
        (in_work(receive_count=1), NOW_MS, Verdict.IN_WORK),
    ],
)
def test_ledger_decides_about_a_task(row: LedgerRow | None, version: int, verdict: Verdict) -> None:
    """R05: superseded and finished tasks cost nothing; what another run has is not worked twice."""
    assert check(row, version).verdict is verdict


def test_started_row_tells_what_runs() -> None:
    """R28: status, time, message, receives and the limit of attempts."""
    row = check(
        make_row(next_attempt_ms=5, message_id="message-1", receive_count=3), receive_count=4
    ).row

    assert row is not None
    assert (row.status, row.progress.receive_count, row.progress.max_attempts) == (
        Status.PROCESSING,
        4,
        3,
    )
    assert (row.progress.message_id, row.progress.sent_ms) == ("message-1", NOW_MS)
    assert (row.progress.last_attempt_ms, row.progress.next_attempt_ms) == (LATER_MS, None)


@pytest.mark.parametrize("status", [Status.PENDING, Status.COMPLETED, Status.FAILED], ids=str)
def test_task_newer_than_its_row_is_worked(status: Status) -> None:
    """R04 R05: a ledger that was restored knows less than the queue."""
    admission = check(make_row(status=status, attempts=2), NOW_MS + 1, quarantine=NONE)

    assert admission.verdict is Verdict.WORK
    assert admission.row is not None
    assert (admission.row.task.version, admission.row.progress.attempts) == (NOW_MS + 1, 0)


@pytest.mark.parametrize(
    ("row", "message", "quarantine"),
    [
        (None, {}, NONE),
        (make_row(), {}, NONE),
        (make_row(quarantine=ALONE), {}, ALONE),
        # The receives of a message that was returned are known.
        (make_row(message_id="message-1", receive_count=3), {"receive_count": 4}, NONE),
        # One that no run has recorded: a poller, a throttle, or a run that crashed at once.
        (make_row(message_id="message-1", receive_count=2), {"receive_count": 4}, GROUP),
        (make_row(), {"receive_count": 2}, GROUP),
        (make_row(message_id="before", receive_count=3), {"receive_count": 2}, GROUP),
        (make_row(quarantine=ALONE), {"receive_count": 2}, ALONE),
        # A run has begun with it, and has not recorded an outcome.
        (in_work(), {"receive_count": 2}, GROUP),
        (in_work(quarantine=GROUP), {"receive_count": 2}, ALONE),
        (in_work(quarantine=ALONE), {"receive_count": 2}, ALONE),
        # The same delivery twice, and another message.
        (in_work(), {}, NONE),
        (in_work(), {"message_id": "copy"}, NONE),
    ],
)
def test_receives_without_an_outcome_keep_a_task_apart_step_by_step(
    row: LedgerRow | None, message: dict[str, Any], quarantine: Quarantine
) -> None:
    """R10 R31: by the count of SQS, whatever the settings and the clocks say."""
    assert quarantine_of(make_message(**message), row) is quarantine


@pytest.mark.parametrize(("before", "after"), [(NONE, GROUP), (GROUP, ALONE)])
def test_crash_that_is_not_proven_spends_no_attempt(before: Quarantine, after: Quarantine) -> None:
    """R22 R31: another document of its batch, or a ledger that was down, may be the cause."""
    admission = check(in_work(quarantine=before), receive_count=2)

    row = admission.row
    assert admission.verdict is Verdict.SUSPECT
    assert row is not None
    assert (row.status, row.progress.quarantine) == (Status.PROCESSING, after)
    assert (row.progress.attempts, row.progress.crashes, row.errors) == (0, 0, ())
    assert row.stashed


@pytest.mark.parametrize(
    ("row", "is_started"),
    [
        (in_work(2), True),
        (in_work(1), False),
        (in_work(2, message_id="message-2"), False),
        (in_work(2, status=Status.PENDING), False),
    ],
    ids=["this receive", "the run before", "a copy", "not in work"],
)
def test_start_of_this_receive_is_told_from_that_of_a_crashed_run(
    row: LedgerRow, is_started: bool
) -> None:
    """R22 R31: only the first is forgiven where the ledger's answer never came."""
    assert has_started(make_message(receive_count=2), row) is is_started


def test_crash_of_a_run_that_worked_it_alone_spends_an_attempt() -> None:
    """R24 R31: proven; the attempt is spent in the same write as the next start."""
    admission = check(in_work(quarantine=ALONE, attempts=1), receive_count=2)

    row = admission.row
    assert admission.verdict is Verdict.SUSPECT
    assert row is not None
    assert (row.status, row.progress.attempts, row.progress.crashes) == (Status.PROCESSING, 2, 1)
    assert (row.progress.receive_count, row.progress.quarantine) == (2, ALONE)
    assert [error.kind for error in row.errors] == ["resource"]


def test_task_waits_for_the_round_of_its_quarantine() -> None:
    """R10 R31: nothing is written before its turn, so that no crash spends two attempts."""
    assert check(in_work(), receive_count=2, quarantine=NONE) == Admission(Verdict.POSTPONED)
    assert check(in_work(quarantine=ALONE), receive_count=2, quarantine=GROUP) == Admission(
        Verdict.POSTPONED
    )


def test_document_that_crashes_every_run_is_given_up() -> None:
    """R24 R31 R34: it ends, with its reason, instead of crashing runs for ever."""
    admission = check(in_work(quarantine=ALONE, attempts=2), receive_count=2)

    assert admission.verdict is Verdict.DEAD
    assert admission.row is not None
    assert admission.row.status is Status.FAILED_MAX_RETRIES


def test_document_that_crashed_every_run_heals_where_healing_is_on() -> None:
    """R30 R31: its message is acknowledged, and the sweep sends it when it is due."""
    retry = RetrySettings(default=RetryPolicy(max_attempts=3))

    admission = check(in_work(quarantine=ALONE, attempts=2), retry=retry, receive_count=2)

    assert admission.verdict is Verdict.WAITS
    assert admission.row is not None
    assert (admission.row.group, admission.row.progress.heals) == (Group.HEALING, 1)


def test_delete_is_not_given_up_for_crashes() -> None:
    """R07 R15: a document that is gone must leave the search."""
    row = in_work(quarantine=ALONE, attempts=2, operation=Operation.DELETE)

    admission = check(row, receive_count=2)

    assert admission.verdict is Verdict.WAITS
    assert admission.row is not None
    assert admission.row.group is Group.PARKED


def test_long_backoff_of_a_policy_holds_for_crashes_too() -> None:
    """R20: in the ledger, not in the queue."""
    retry = RetrySettings(default=RetryPolicy(base_seconds=600, cap_seconds=600))

    admission = check(in_work(quarantine=ALONE), receive_count=2, retry=retry)

    assert admission.verdict is Verdict.WAITS
    assert admission.row is not None
    assert (admission.row.group, admission.row.progress.next_attempt_ms) == (
        Group.PARKED,
        LATER_MS + 600_000,
    )


def test_crashes_are_counted_with_the_one_that_is_not_recorded_yet() -> None:
    """R31: what has crashed a run comes after what has only waited for its turn."""
    waited, crashed = in_work(quarantine=GROUP), in_work(quarantine=ALONE)

    assert [crashes_of(waited), crashes_of(crashed)] == [0, 1]


def test_copy_of_a_task_in_work_becomes_one_with_it() -> None:
    """R05 R13: acknowledged; the sweep sends it when the other run must be over."""
    admission = check(in_work(quarantine=ALONE), message_id="copy")

    row = admission.row
    assert admission.verdict is Verdict.WAITS
    assert row is not None
    assert (row.group, row.progress.attempts, row.progress.quarantine) == (Group.PARKED, 0, ALONE)
    assert row.progress.next_attempt_ms == LATER_MS + OVER_SECONDS * 1000


@pytest.mark.parametrize(
    ("sent_ms", "verdict"),
    [
        (NOW_MS - 1, Verdict.DEAD),
        (NOW_MS, Verdict.DEAD),
        (NOW_MS + 1, Verdict.SUSPECT),
    ],
)
@pytest.mark.parametrize("skew_ms", [-5000, 0, 5000])
def test_only_a_message_that_was_sent_later_is_redriven(
    sent_ms: int, verdict: Verdict, skew_ms: int
) -> None:
    """R20 R41: its attempts start again; by the clock of SQS alone, whatever a worker's says."""
    failed = make_row(
        status=Status.FAILED,
        sent_ms=NOW_MS,
        failed_ms=NOW_MS + skew_ms,
        attempts=3,
        reason="bad",
    )

    admission = check(failed, sent_ms=sent_ms)

    assert admission.verdict is verdict
    if verdict is Verdict.SUSPECT:
        assert admission.row is not None
        assert (admission.row.progress.attempts, admission.row.outcome.reason) == (0, None)
        assert admission.row.progress.quarantine is GROUP


@pytest.mark.parametrize(
    ("row", "attempts"),
    [(in_work(7), 0), (in_work(7, quarantine=ALONE), 1)],
    ids=["not proven", "proven"],
)
def test_last_deliveries_are_not_spent_on_crashes(row: LedgerRow, attempts: int) -> None:
    """R20 R31: it is parked, so that SQS does not move it to the dead letters unexplained."""
    retry = RetrySettings(default=RetryPolicy(max_attempts=30))

    admission = check(row, receive_count=LAST_HIDING_RECEIVE, retry=retry)

    assert admission.verdict is Verdict.WAITS
    assert admission.row is not None
    assert (admission.row.group, admission.row.progress.attempts) == (Group.PARKED, attempts)
    assert admission.row.progress.quarantine is not NONE


def test_task_that_no_run_has_time_for_goes_back_and_is_parked_in_the_end() -> None:
    """R20 R31: nothing is written at first; the last deliveries are not spent."""
    known = {"message_id": "message-1"}
    early = check(make_row(**known, receive_count=1), receive_count=2, has_time=False)
    late = check(make_row(**known, receive_count=7), receive_count=8, has_time=False)

    assert early == Admission(Verdict.POSTPONED)
    assert late.verdict is Verdict.WAITS
    assert late.row is not None
    assert (late.row.group, late.row.progress.attempts) == (Group.PARKED, 0)
    assert late.row.errors[-1].kind == "no_time"
