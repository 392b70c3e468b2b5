"""Messages -> jobs: what is worked, what goes back, and what is acknowledged."""

from typing import Any

import pytest

from functions.core.identity import DocumentId
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Message
from functions.embed.admit import Verdict
from functions.embed.job import Job, Received, Returned
from tests.builders import NOW_MS, changed, make_message, make_row, make_task
from tests.unit.embed.steps import OvertakenLedger, Steps

RUN_SECONDS = 60.0
# When a message comes again whose run crashed.
LATER_SECONDS = 6 * RUN_SECONDS


def received(message: Message | None = None, **task: Any) -> Received:
    made = make_task(**task)
    return Received(make_message(made) if message is None else message, made)


def put(steps: Steps, **changes: Any) -> LedgerRow:
    row = make_row(revision=0, **changes)
    if isinstance(steps.ledger, OvertakenLedger):
        return steps.ledger.put(row)
    return steps.ledger.write([row]).stored[row.row_key]


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "{}",
        make_task(target="other").to_json(),
        make_task(source="other").to_json(),
    ],
    ids=["no json", "no task", "of another target", "of another source"],
)
def test_message_that_is_not_ours_goes_back_to_be_moved_by_sqs(body: str) -> None:
    """R24: never worked, logged once, and kept for a person."""
    steps = Steps()
    first = make_message(body=body, message_id="first")
    second = make_message(body=body, message_id="second", receive_count=2)

    tasks, returned = steps.receive.parse([first, second])

    assert (tasks, returned) == ([], [Returned(first, 0), Returned(second, 0)])
    [(event, logged)] = steps.telemetry.events
    assert (event, logged["message_id"]) == ("message_malformed", "first")
    assert logged["reason"] != "None"
    assert steps.telemetry.metrics["MessagesMalformed"] == 1


def test_task_of_ours_is_parsed() -> None:
    """R03: target and source are those of this function."""
    message = make_message()

    assert Steps().receive.parse([message]) == ([Received(message, make_task())], [])


def test_newest_message_of_each_document_is_kept() -> None:
    """R05: older versions and copies cost no work."""
    steps = Steps()
    new = received(version=2)
    copy = received(make_message(new.task, message_id="copy"), version=2)
    other = received(document_id=DocumentId("b"))

    kept = steps.receive.newest(
        [received(version=1), new, copy, received(version=1, trace_id="late"), other]
    )

    assert kept == [new, other]
    assert steps.events() == ["task_superseded"] * 3
    assert steps.telemetry.metrics["TasksSuperseded"] == 3


def test_open_row_becomes_a_job() -> None:
    """R28: the ledger says that it is worked before the work begins."""
    steps = Steps()
    put(steps)
    one = received()

    admitted = steps.receive.admit([one], run_seconds=RUN_SECONDS)

    [row] = steps.ledger.rows.values()
    assert row.status is Status.PROCESSING
    assert admitted.jobs == [Job(one.message, one.task, row)]
    assert (admitted.suspects, admitted.returned) == ([], [])


@pytest.mark.parametrize(
    ("row", "verdict", "goes_back"),
    [
        (None, Verdict.UNKNOWN, False),
        ({"version": NOW_MS + 1}, Verdict.SUPERSEDED, False),
        ({"status": Status.COMPLETED}, Verdict.DONE, False),
        ({"parked": True}, Verdict.WAITS, False),
        ({"status": Status.FAILED, "failed_ms": NOW_MS}, Verdict.DEAD, True),
    ],
)
def test_what_is_not_worked_is_acknowledged_or_goes_back(
    row: dict[str, Any] | None, verdict: Verdict, goes_back: bool
) -> None:
    """R05 R24: only what is given up comes again, until SQS moves it; no row is touched."""
    steps = Steps()
    if row is not None:
        put(steps, **row)
    before = dict(steps.ledger.rows)
    one = received()

    admitted = steps.receive.admit([one], run_seconds=RUN_SECONDS)

    assert (admitted.jobs, admitted.suspects) == ([], [])
    assert admitted.returned == ([Returned(one.message, 0)] if goes_back else [])
    assert steps.events() == [verdict]
    assert steps.ledger.rows == before


def crashed(steps: Steps, **changes: Any) -> Received:
    """Put a row that a run took and never ended, and let its message come again."""
    values = {"status": Status.PROCESSING, "receive_count": 1, "last_attempt_ms": NOW_MS}
    put(steps, **values | changes)
    steps.clock.advance(LATER_SECONDS)
    return received(make_message(receive_count=2))


def test_task_of_a_crashed_run_is_worked_alone() -> None:
    """R24 R31: an attempt is spent, and nothing else is taken down by it."""
    steps = Steps()
    one = crashed(steps)

    admitted = steps.receive.admit([one], run_seconds=RUN_SECONDS)

    [row] = steps.ledger.rows.values()
    assert (admitted.jobs, admitted.suspects) == ([], [one])
    assert (row.status, row.progress.attempts, row.stashed) == (Status.PENDING, 1, True)


def test_task_of_one_crash_too_many_is_given_up_and_announced() -> None:
    """R24 R27: it ends here, as everywhere, with an event."""
    steps = Steps()
    one = crashed(steps, attempts=2)

    admitted = steps.receive.admit([one], run_seconds=RUN_SECONDS)

    [row] = steps.ledger.rows.values()
    assert admitted.returned == [Returned(one.message, 0)]
    assert row.status is Status.FAILED_MAX_RETRIES
    assert [event.status for event in steps.announcer.events] == [Status.FAILED_MAX_RETRIES]


def test_row_is_not_given_up_while_its_event_is_refused() -> None:
    """R27: at least once; the message comes again, and the row is as it was."""
    steps = Steps()
    one = crashed(steps, attempts=2)
    before = dict(steps.ledger.rows)
    steps.announcer.refuses = 1

    admitted = steps.receive.admit([one], run_seconds=RUN_SECONDS)

    assert admitted.returned == [Returned.later(one.message, jitter=0)]
    assert admitted.returned[0].seconds > 0
    assert steps.ledger.rows == before
    assert steps.events() == ["announcement_failed", "task_not_announced"]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"version": NOW_MS + 1}, Verdict.SUPERSEDED),
        ({"status": Status.COMPLETED}, Verdict.DONE),
        ({"attempts": 1}, Verdict.WORK),
    ],
    ids=["a newer change", "a copy that is through", "an error of before"],
)
def test_row_that_changes_meanwhile_is_looked_at_again(
    changes: dict[str, Any], verdict: Verdict
) -> None:
    """R05 R28: what stands in the ledger decides."""
    steps = Steps(OvertakenLedger(lambda row: changed(row, **changes)))
    put(steps)

    admitted = steps.receive.admit([received()], run_seconds=RUN_SECONDS)

    assert steps.events() == [verdict]
    assert len(admitted.jobs) == (verdict is Verdict.WORK)
