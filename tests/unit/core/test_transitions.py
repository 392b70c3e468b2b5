"""Every change of a row: what it resets, and what it keeps."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from functions.core.change import Operation, Rejected
from functions.core.document import Document
from functions.core.failure import Failure, FailureKind
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import (
    ErrorRecord,
    Group,
    IndexedContent,
    LedgerRow,
    Outcome,
    Progress,
    Quarantine,
    Status,
)
from functions.core.next_step import GiveUp, Heal, Park, RetryAfter, Step
from functions.core.transitions import (
    CONFIRM_MS,
    SEND_AGAIN_MS,
    accept,
    adopt,
    complete,
    confirm_sent,
    give_up_stuck,
    hand_back,
    isolate,
    leave_to_sweep,
    put_in_lane,
    record_crash,
    record_failure,
    reject,
    remove,
    requeue,
    schedule,
    settle,
    start,
    start_over,
)
from tests.builders import (
    NOW_MS,
    changed,
    make_change,
    make_message,
    make_position,
    make_row,
    make_task,
)

LATER_MS = NOW_MS + 1000
DAY_SECONDS = 24 * 3600
ERROR = ErrorRecord(NOW_MS, FailureKind.TIMEOUT, "no answer")
# A row with something in every field that a reset could forget.
FULL = replace(
    make_row(revision=7, trace_id="before", type="note", stashed=True, errors=(ERROR,)),
    progress=Progress(
        attempts=4,
        max_attempts=5,
        free_retries=3,
        provider_failures=2,
        throttles=1,
        message_id="before",
        receive_count=2,
        sent_ms=NOW_MS - 7,
        quarantine=Quarantine.ALONE,
        crashes=2,
        last_attempt_ms=NOW_MS - 5,
        next_attempt_ms=NOW_MS + 5,
        parked=True,
        sent=False,
        heals=2,
        failing_since_ms=NOW_MS - 9,
    ),
    outcome=Outcome(1, 2, "why", "hash", 3),
    indexed=IndexedContent(3, 1, 42, "m"),
)


def started(row: LedgerRow) -> LedgerRow:
    return start(row, make_message(), quarantine=Quarantine.NONE, max_attempts=5, now_ms=LATER_MS)


def requeued(row: LedgerRow) -> LedgerRow:
    return requeue(row, now_ms=LATER_MS)


def accepted(row: LedgerRow) -> LedgerRow:
    change = make_change(key={"pk": {"S": "a"}})
    return accept(change, row, target="default", lane=Lane.NORMAL, trace_id="", now_ms=LATER_MS)


def test_first_change_makes_an_empty_row() -> None:
    """R28: the document, its change, and nothing else yet."""
    change = make_change(content=Document("text", "note"))

    row = accept(change, None, target="default", lane=Lane.HIGH, trace_id="trace", now_ms=LATER_MS)

    assert row == make_row(
        version=LATER_MS,
        lane=Lane.HIGH,
        trace_id="trace",
        position=change.position,
        created_ms=LATER_MS,
        queued_ms=LATER_MS,
        revision=0,
        type="note",
    )


def test_next_change_starts_over_and_keeps_what_the_document_has() -> None:
    """R04 R28: history, vectors in the stash and what the index holds outlive a version."""
    change = make_change(position=make_position(900), removed=True, content=None)

    row = accept(change, FULL, target="default", lane=Lane.DELETE, trace_id="now", now_ms=LATER_MS)

    assert row == changed(
        FULL,
        version=LATER_MS,
        lane=Lane.DELETE,
        trace_id="now",
        position=change.position,
        operation=Operation.DELETE,
        queued_ms=LATER_MS,
        progress=Progress(quarantine=Quarantine.ALONE),
        outcome=Outcome(),
    )


def test_version_grows_even_if_the_clock_stands_still() -> None:
    """R04: two changes within a millisecond, or a clock that is set back."""
    early = accept(
        make_change(), FULL, target="default", lane=Lane.NORMAL, trace_id="", now_ms=NOW_MS - 50
    )

    assert early.task.version == FULL.task.version + 1
    assert requeue(FULL, now_ms=NOW_MS - 50).task.version == FULL.task.version + 1


def test_rejected_record_is_a_failed_row() -> None:
    """R09: a person sees it, and the stream goes on."""
    record = Rejected("articles", "e1", make_position(5), "no key")

    row = reject(record, target="default", now_ms=NOW_MS)

    assert (row.status, row.outcome) == (
        Status.FAILED,
        Outcome(failed_ms=NOW_MS, reason="no key"),
    )
    assert (row.task.document_id, row.group) == (DocumentId("stream record e1"), Group.FAILED)


def test_requeue_takes_a_version_and_waits_for_its_confirmation() -> None:
    """R29: attempts stay; a send that was never confirmed is done again."""
    row = requeue(FULL, now_ms=LATER_MS)

    assert row == changed(
        FULL,
        version=LATER_MS,
        status=Status.PENDING,
        queued_ms=LATER_MS,
        message_id="",
        receive_count=0,
        sent_ms=0,
        next_attempt_ms=LATER_MS + CONFIRM_MS,
        parked=False,
        sent=False,
        outcome=Outcome(),
    )
    assert row.group is Group.PARKED
    assert confirm_sent(row) == changed(row, sent=True, next_attempt_ms=None)
    assert confirm_sent(row).group is Group.OPEN


def test_task_that_was_not_sent_is_left_to_the_sweep() -> None:
    """R29: in a minute."""
    row = leave_to_sweep(make_row(), now_ms=NOW_MS)

    assert row == make_row(sent=False, next_attempt_ms=NOW_MS + SEND_AGAIN_MS)
    assert row.group is Group.PARKED


def test_start_over_forgets_attempts_and_outcome() -> None:
    """R24: a person's retry; the history stays, and what crashed its runs is still apart."""
    progress = Progress(quarantine=Quarantine.ALONE)

    assert start_over(FULL) == replace(FULL, progress=progress, outcome=Outcome())


def test_row_of_a_restored_ledger_takes_the_version_of_its_task() -> None:
    """R04 R05: and waits, as after a change."""
    row = adopt(changed(FULL, status=Status.COMPLETED), make_task(version=LATER_MS))

    assert row == changed(start_over(FULL), version=LATER_MS, status=Status.PENDING)


def test_lane_is_all_that_a_move_changes() -> None:
    """R07 R30: version and progress stay."""
    assert put_in_lane(FULL, Lane.BULK) == changed(FULL, lane=Lane.BULK)


def test_start_marks_the_run_and_keeps_what_was_tried() -> None:
    """R28: status, time, message, receives and limit."""
    message = make_message(receive_count=3, sent_ms=NOW_MS - 6)

    row = start(FULL, message, quarantine=Quarantine.GROUP, max_attempts=9, now_ms=LATER_MS)

    assert row == changed(
        FULL,
        status=Status.PROCESSING,
        message_id=message.message_id,
        receive_count=3,
        sent_ms=NOW_MS - 6,
        quarantine=Quarantine.GROUP,
        max_attempts=9,
        last_attempt_ms=LATER_MS,
        next_attempt_ms=None,
        parked=False,
        sent=True,
    )


def test_latest_time_of_sending_is_kept() -> None:
    """R20 R41: of two copies of a task, an older one is not taken for redriven."""
    old = make_message(sent_ms=NOW_MS - 8)

    row = start(FULL, old, quarantine=Quarantine.NONE, max_attempts=9, now_ms=LATER_MS)

    assert row.progress.sent_ms == FULL.progress.sent_ms


@pytest.mark.parametrize("next_of", [started, requeued, accepted], ids=lambda made: made.__name__)
def test_vectors_of_a_run_that_has_not_ended_may_be_in_the_stash(
    next_of: Callable[[LedgerRow], LedgerRow],
) -> None:
    """R13: whoever comes next looks there, a newer version too."""
    assert next_of(make_row(status=Status.PROCESSING)).stashed
    assert not next_of(make_row(status=Status.PENDING)).stashed


def test_handed_back_row_waits_again() -> None:
    """R31: no attempt, no error."""
    started = start(
        make_row(), make_message(), quarantine=Quarantine.NONE, max_attempts=5, now_ms=NOW_MS
    )

    assert hand_back(started) == changed(started, status=Status.PENDING)


@pytest.mark.parametrize(
    ("failure", "counts"),
    [
        (Failure(FailureKind.TIMEOUT, "why"), (5, 0, 3, 1)),
        (Failure(FailureKind.PROVIDER_ERROR, "why"), (5, 0, 3, 1)),
        (Failure(FailureKind.RESOURCE, "why"), (5, 0, 0, 0)),
        (Failure(FailureKind.NO_TIME, "why"), (4, 4, 2, 1)),
        (Failure(FailureKind.THROTTLED, "why"), (4, 4, 2, 2)),
        (Failure(FailureKind.THROTTLED, "why", is_asked=False), (4, 4, 2, 1)),
    ],
    ids=["timeout", "provider error", "another", "a free retry", "throttled", "others throttled"],
)
def test_failure_is_counted_as_its_kind_says(
    failure: Failure, counts: tuple[int, int, int, int]
) -> None:
    """R23 R24 R28: and in the history."""
    row = record_failure(FULL, failure, now_ms=LATER_MS)

    attempts, free_retries, provider_failures, throttles = counts
    assert row == changed(
        FULL,
        attempts=attempts,
        free_retries=free_retries,
        provider_failures=provider_failures,
        throttles=throttles,
        errors=(ERROR, ErrorRecord(LATER_MS, failure.kind, "why")),
    )


def test_crash_spends_an_attempt_and_may_have_stashed() -> None:
    """R24 R31: pending until its turn."""
    crash = Failure(FailureKind.RESOURCE, "crashed")
    before = make_row(status=Status.PROCESSING, receive_count=1)

    row = record_crash(before, crash, receive_count=2, now_ms=LATER_MS)

    assert row == changed(
        before,
        status=Status.PENDING,
        receive_count=2,
        crashes=1,
        attempts=1,
        stashed=True,
        errors=(ErrorRecord(LATER_MS, FailureKind.RESOURCE, "crashed"),),
    )


@pytest.mark.parametrize(
    ("kind", "crashes", "quarantine"),
    [
        (FailureKind.TIMEOUT, 0, Quarantine.NONE),
        (FailureKind.TIMEOUT, 1, Quarantine.ALONE),
        (FailureKind.THROTTLED, 0, Quarantine.ALONE),
    ],
    ids=["its run ended", "it has crashed runs", "it was not tried"],
)
def test_quarantine_ends_with_a_run_that_ends(
    kind: FailureKind, crashes: int, quarantine: Quarantine
) -> None:
    """R24 R31: an attempt that failed in an ordinary way shows that it does not crash its runs."""
    row = make_row(quarantine=Quarantine.ALONE, crashes=crashes)

    failed = record_failure(row, Failure(kind, "why"), now_ms=LATER_MS)

    assert failed.progress.quarantine is quarantine


def test_isolated_row_waits_and_is_apart() -> None:
    """R31: no attempt is spent."""
    before = make_row(status=Status.PROCESSING)

    row = isolate(before, Quarantine.GROUP)

    assert row == changed(before, status=Status.PENDING, quarantine=Quarantine.GROUP, stashed=True)


FAILED = Outcome(failed_ms=NOW_MS, reason="why")


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            RetryAfter(2.5),
            changed(FULL, status=Status.PENDING, next_attempt_ms=NOW_MS + 2500, parked=False),
        ),
        (
            Park(60),
            changed(FULL, status=Status.PENDING, next_attempt_ms=NOW_MS + 60_000, parked=True),
        ),
        (
            Heal(60, "why"),
            changed(
                FULL,
                status=Status.FAILED,
                next_attempt_ms=NOW_MS + 60_000,
                parked=False,
                heals=3,
                outcome=FAILED,
            ),
        ),
        (
            GiveUp("why", is_permanent=False),
            changed(
                FULL,
                status=Status.FAILED_MAX_RETRIES,
                next_attempt_ms=None,
                parked=False,
                outcome=FAILED,
            ),
        ),
        (
            GiveUp("why", is_permanent=True),
            changed(
                FULL,
                status=Status.FAILED,
                next_attempt_ms=None,
                parked=False,
                outcome=replace(FAILED, content_hash="failed"),
            ),
        ),
    ],
)
def test_step_decides_the_state(step: Step, expected: LedgerRow) -> None:
    """R20 R24 R28 R30: backoff, park, heal or give up."""
    assert settle(FULL, step, content_hash="failed", now_ms=NOW_MS) == expected


def test_healing_begins_when_the_attempts_run_out() -> None:
    """R30: the first time is kept."""
    row = settle(make_row(), Heal(60, "why"), content_hash=None, now_ms=NOW_MS)
    again = settle(row, Heal(60, "why"), content_hash=None, now_ms=LATER_MS)

    assert (row.progress.failing_since_ms, again.progress.failing_since_ms) == (NOW_MS, NOW_MS)
    assert (row.progress.heals, again.progress.heals) == (1, 2)


CLOSED = Progress(attempts=5, max_attempts=5, receive_count=2, last_attempt_ms=NOW_MS - 5)


@pytest.mark.parametrize(
    ("chunks_failed", "status", "expires_at"),
    [
        (0, Status.COMPLETED, NOW_MS // 1000 + 30 * DAY_SECONDS),
        (1, Status.PARTIALLY_COMPLETED, None),
    ],
)
def test_completed_row_has_no_rest_of_its_attempts(
    chunks_failed: int, status: Status, expires_at: int | None
) -> None:
    """R27 R28 R46: a whole one expires after thirty days, one that lacks chunks stays."""
    indexed = IndexedContent(3, chunks_failed, 42, "new")
    removed = changed(FULL, operation=Operation.DELETE)

    row = complete(removed, indexed, content_hash="done", kept_days=30, now_ms=NOW_MS)

    assert row == changed(
        FULL,
        status=status,
        operation=Operation.UPSERT,
        progress=CLOSED,
        outcome=Outcome(completed_ms=NOW_MS, content_hash="done", expires_at=expires_at),
        indexed=indexed,
        stashed=False,
    )


@pytest.mark.parametrize(("reason", "status"), [(None, Status.DELETED), ("empty", Status.SKIPPED)])
def test_removed_row_has_no_chunks_and_nothing_in_the_stash(
    reason: str | None, status: Status
) -> None:
    """R07 R28 R32: deleted, or skipped for a reason."""
    row = remove(FULL, reason=reason, content_hash="empty", now_ms=NOW_MS)

    assert row == changed(
        FULL,
        status=status,
        operation=Operation.DELETE,
        progress=CLOSED,
        outcome=Outcome(completed_ms=NOW_MS, reason=reason, content_hash="empty"),
        indexed=IndexedContent(model="m"),
        stashed=False,
    )


def test_row_that_was_stuck_too_often_is_closed() -> None:
    """R24 R29: with what it was tried for."""
    row = give_up_stuck(make_row(attempts=5), Failure(FailureKind.RESOURCE, "lost"), now_ms=NOW_MS)

    assert (row.status, row.outcome.reason) == (
        Status.FAILED_MAX_RETRIES,
        "stuck after 5 attempts: lost",
    )
    assert (row.progress.attempts, row.errors[-1].message) == (5, "lost")


@pytest.mark.parametrize(
    ("known", "carried", "tenant"),
    [("acme", None, "acme"), ("acme", "other", "other"), ("acme", "", ""), (None, None, "")],
    ids=["a delete carries none", "moved", "no longer one's", "not known"],
)
def test_tenant_follows_the_change_that_carries_it(
    known: str | None, carried: str | None, tenant: str
) -> None:
    """R19: a delete waits in the group of its document's tenant."""
    row = None if known is None else make_row(tenant=known)

    made = accept(
        make_change(tenant=carried),
        row,
        target="default",
        lane=Lane.BULK,
        trace_id="",
        now_ms=LATER_MS,
    )

    assert made.task.tenant == tenant


def test_row_over_budget_is_so_until_it_is_sent_again() -> None:
    """R19: another failure, a start and a requeue end it; it spends no attempt."""
    failure = Failure(FailureKind.BUDGET, "used up")
    failed = record_failure(make_row(), failure, now_ms=LATER_MS)
    parked = settle(failed, Park(4), content_hash=None, now_ms=LATER_MS)

    assert (parked.group, parked.progress.attempts) == (Group.OVER_BUDGET, 0)
    assert requeue(parked, now_ms=LATER_MS).group is Group.PARKED
    assert not requeue(parked, now_ms=LATER_MS).progress.over_budget
    started = start(
        parked, make_message(), quarantine=Quarantine.NONE, max_attempts=5, now_ms=LATER_MS
    )
    assert not started.progress.over_budget
    other = record_failure(parked, Failure(FailureKind.PAUSED, "x"), now_ms=LATER_MS)
    assert other.group is Group.PARKED


def test_scheduled_row_waits_for_its_time_with_all_its_attempts() -> None:
    """R42: whatever became of it; no message is on its way."""
    failed = make_row(status=Status.FAILED, attempts=5, failed_ms=NOW_MS, reason="503", errors=())

    waiting = schedule(failed, at_ms=NOW_MS + 7)

    assert (waiting.status, waiting.group, waiting.due_ms) == (
        Status.PENDING,
        Group.PARKED,
        NOW_MS + 7,
    )
    assert (waiting.progress.attempts, waiting.outcome) == (0, Outcome())
    assert waiting.task.version == failed.task.version
