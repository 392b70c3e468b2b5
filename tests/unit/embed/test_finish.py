"""Endings -> ledger, log and messages."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import DocumentId
from functions.core.ledger_row import ErrorRecord, LedgerRow, Quarantine, Status
from functions.core.ports import Swapped
from functions.core.retry_policy import RetryPolicy, RetrySettings
from functions.core.task import parse_task
from functions.embed.ending import Ending, Failed, Indexed, Removed, Superseded, Untouched
from functions.embed.finish import BULK_DOCUMENTS, EVENT_REFUSED
from functions.embed.job import Job, Returned
from local.memory.ledger import MemoryLedger
from tests.builders import NOW_MS, changed, make_message, make_row, make_target, make_task
from tests.unit.embed.steps import OvertakenLedger, Steps

BROKEN = Failure(FailureKind.PROVIDER_ERROR, "503")
INDEXED = Indexed("hash", 3, tokens=42)
REMOVED = Removed(None, None)


def job(steps: Steps, name: str = "a", **changes: Any) -> Job:
    task = make_task(document_id=DocumentId(name))
    values: dict[str, Any] = {"status": Status.PROCESSING, "receive_count": 1}
    row = make_row(revision=0, document_id=DocumentId(name), **values | changes)
    if isinstance(steps.ledger, OvertakenLedger):
        stored = steps.ledger.put(row)
    else:
        stored = steps.ledger.write([row]).stored[row.row_key]
    return Job(make_message(task), task, stored)


def close(steps: Steps, one: Job, ending: Ending) -> list[Returned]:
    return steps.finish.close([steps.finish.end(one, ending)])


def fields(steps: Steps, event: str) -> dict[str, Any]:
    [found] = [fields for name, fields in steps.telemetry.events if name == event]
    return found


@pytest.mark.parametrize(("paid", "logged"), [(42, 42), (0, None)])
def test_tokens_that_were_paid_are_logged(paid: int, logged: int | None) -> None:
    """R27 R63: what cost nothing says nothing of it."""
    steps = Steps()

    close(steps, job(steps), Indexed("hash", 3, tokens=paid))

    assert fields(steps, "task_completed").get("tokens") == logged


@pytest.mark.parametrize(
    ("ending", "status", "event", "metric"),
    [
        (INDEXED, Status.COMPLETED, "task_completed", "TasksCompleted"),
        (
            Indexed("hash", 2, chunks_failed=1),
            Status.PARTIALLY_COMPLETED,
            "task_partially_completed",
            "TasksPartiallyCompleted",
        ),
        (REMOVED, Status.DELETED, "task_deleted", "TasksDeleted"),
        (Removed("empty", "hash"), Status.SKIPPED, "task_skipped", "TasksSkipped"),
    ],
)
def test_end_is_announced_closed_logged_and_acknowledged(
    ending: Ending, status: Status, event: str, metric: str
) -> None:
    """R27 R28 R46: with the time since the application wrote it."""
    steps = Steps()
    one = job(steps)
    steps.clock.advance(4)

    assert close(steps, one, ending) == []

    assert steps.ledger.rows[one.key].status is status
    assert [detail.status for detail in steps.announcer.events] == [status]
    assert fields(steps, event)["freshness_ms"] == 4000
    assert (steps.telemetry.metrics[metric], steps.telemetry.metrics["FreshnessMilliseconds"]) == (
        1,
        4000,
    )


@pytest.mark.parametrize(
    ("attempts", "errors_ms", "retries", "since_ms"),
    [
        (1, [], 0, 0),
        (1, [NOW_MS - 5], 0, 0),
        (2, [NOW_MS], 1, 4000),
        (3, [NOW_MS - 9000, NOW_MS + 1000, NOW_MS + 3000], 1, 3000),
        (2, [], 1, 0),
    ],
)
def test_success_says_how_many_attempts_and_how_long_since_the_first_failure(
    attempts: int, errors_ms: list[int], retries: int, since_ms: int
) -> None:
    """R60: of this write; errors from before it belong to another one."""
    steps = Steps()
    errors = tuple(ErrorRecord(at_ms, FailureKind.PROVIDER_ERROR, "503") for at_ms in errors_ms)
    one = job(steps, attempts=attempts - 1, errors=errors)
    steps.clock.advance(4)

    close(steps, one, INDEXED)

    metrics = steps.telemetry.metrics
    assert (metrics["Attempts"], metrics["RetriesSucceeded"]) == (attempts, retries)
    assert metrics["RetrySuccessMilliseconds"] == since_ms
    assert steps.telemetry.details["FreshnessMilliseconds", "normal", "articles"] == 4000


@pytest.mark.parametrize(("attempts", "again"), [(0, 0), (1, 1), (2, 1)])
def test_failure_after_a_failure_is_counted_as_a_retry(attempts: int, again: int) -> None:
    """R60: so that an alarm can tell a bad minute from documents that never succeed."""
    steps = Steps()

    close(steps, job(steps, attempts=attempts), Failed(BROKEN))

    assert steps.telemetry.metrics["TasksFailed"] == 1
    assert steps.telemetry.metrics["RetriesFailed"] == again


def test_end_that_is_announced_is_counted_for_its_target() -> None:
    """R46 R60: against the events that arrived."""
    steps = Steps()

    close(steps, job(steps), INDEXED)

    assert steps.telemetry.details["TasksEnded", "default"] == 1


def test_write_from_a_clock_that_is_ahead_is_fresh_at_once() -> None:
    """R60: never less than nothing."""
    steps = Steps()

    close(steps, job(steps, written_ms=NOW_MS + 9000), INDEXED)

    assert fields(steps, "task_completed")["freshness_ms"] == 0


@pytest.mark.parametrize(
    ("attempts", "failure", "event", "again"),
    [
        (0, BROKEN, "task_failed", 4),
        (2, BROKEN, "task_given_up", 0),
        (0, Failure(FailureKind.THROTTLED, "429", 30), "task_parked", None),
    ],
)
def test_failure_is_logged_with_its_kind_and_reason(
    attempts: int, failure: Failure, event: str, again: float | None
) -> None:
    """R20 R24 R28: whether its message comes again is decided with the row."""
    steps = Steps()
    one = job(steps, attempts=attempts)

    returned = close(steps, one, Failed(failure))

    assert returned == ([] if again is None else [Returned(one.message, again)])
    logged = fields(steps, event)
    assert (logged["failure"], logged["reason"]) == (failure.kind, failure.message)
    assert "freshness_ms" not in logged
    assert steps.telemetry.metrics["TasksFailed"] == failure.kind.spends_attempt


def test_refused_event_is_a_failure_of_its_own() -> None:
    """R27 R28: logged with its reason and in the report; freshness is counted once, in the end."""
    steps = Steps()
    one = job(steps)
    steps.announcer.refuses = 1

    [returned] = close(steps, one, INDEXED)
    steps.finish.report()

    assert returned.seconds > 0
    row = steps.ledger.rows[one.key]
    assert (row.status, row.progress.attempts) == (Status.PENDING, 0)
    logged = fields(steps, "task_failed")
    assert (logged["failure"], logged["reason"]) == ("event_refused", EVENT_REFUSED.message)
    assert "freshness_ms" not in logged
    assert "FreshnessMilliseconds" not in steps.telemetry.metrics
    assert steps.telemetry.details["Failures", "event_refused"] == 1


def test_task_without_time_is_handed_back_and_counted() -> None:
    """R60: it spends no attempt."""
    steps = Steps()

    [returned] = close(steps, job(steps), Untouched())

    assert returned.seconds > 0
    assert steps.telemetry.metrics["TasksHandedBack"] == 1


def test_superseded_task_leaves_the_row_alone() -> None:
    """R05: the newer version's row is its own."""
    steps = Steps()
    one = job(steps)

    assert close(steps, one, Superseded()) == []
    assert steps.ledger.rows[one.key] == one.row
    assert steps.telemetry.metrics["TasksSuperseded"] == 1


GIVEN_UP = {"status": Status.FAILED, "failed_ms": NOW_MS}
HEALING = {**GIVEN_UP, "next_attempt_ms": NOW_MS}


@pytest.mark.parametrize(
    ("meanwhile", "ending", "event", "again"),
    [
        pytest.param({"trace_id": "other"}, INDEXED, "task_completed", None, id="still open"),
        pytest.param({"version": NOW_MS + 1}, INDEXED, "task_superseded", None, id="newer change"),
        pytest.param({"status": Status.DELETED}, REMOVED, "task_superseded", None, id="closed"),
        pytest.param(GIVEN_UP, INDEXED, "task_completed", None, id="a copy failed, this is in"),
        pytest.param(GIVEN_UP, REMOVED, "task_deleted", None, id="a copy failed, this is out"),
        pytest.param(GIVEN_UP, Failed(BROKEN), "task_superseded", 0, id="both failed"),
        pytest.param(HEALING, Failed(BROKEN), "task_superseded", None, id="a copy heals"),
    ],
)
def test_row_that_changed_meanwhile_decides_again(
    meanwhile: dict[str, Any], ending: Ending, event: str, again: float | None
) -> None:
    """R05 R28 R31: what is in the index is in the index; a newer change is never touched."""
    steps = Steps(OvertakenLedger(lambda row: changed(row, **meanwhile)))
    one = job(steps)

    returned = close(steps, one, ending)

    assert returned == ([] if again is None else [Returned(one.message, again)])
    assert event in steps.events()
    if event == "task_superseded":
        standing = steps.ledger.rows[one.key]
        assert standing == changed(one.row, revision=standing.revision, **meanwhile)


def test_end_that_stands_is_the_last_that_is_announced() -> None:
    """R27: this copy of the task read a poison, the other one the mended text."""
    steps = Steps(OvertakenLedger(lambda row: changed(row, status=Status.COMPLETED)))
    poison = Failure(FailureKind.INVALID_INPUT, "400")

    close(steps, job(steps), Failed(poison))

    statuses = [event.status for event in steps.announcer.events]
    assert statuses == [Status.FAILED, Status.COMPLETED]


def test_task_comes_again_if_the_end_that_stands_could_not_be_announced() -> None:
    """R27 R36: acknowledged, the false event of this copy would stay the last one."""

    def complete_unheard(row: LedgerRow) -> LedgerRow:
        steps.announcer.refuses = 1
        return changed(row, status=Status.COMPLETED)

    steps = Steps(OvertakenLedger(complete_unheard))
    one = job(steps)

    returned = close(steps, one, Failed(Failure(FailureKind.INVALID_INPUT, "400")))

    assert returned == [Returned.later(one.message, jitter=0)]


def test_what_was_worked_alone_is_sent_anew_where_the_ledger_takes_no_ending() -> None:
    """R22 R31: its row cannot say that its run ended; the same message would spend an attempt."""
    ledger = BrokenLedger()
    steps = Steps(ledger)
    jobs = [job(steps, "a", quarantine=Quarantine.ALONE), job(steps, "b")]
    ledger.is_broken = True

    returned = steps.finish.close([steps.finish.end(one, INDEXED) for one in jobs])

    assert returned == [Returned.later(jobs[1].message, jitter=0)]
    [anew] = steps.queues.receive("default/normal", 10)
    assert parse_task(anew.body) == replace(jobs[0].task, copy="message-1/1")


def test_row_of_a_restored_ledger_is_closed() -> None:
    """R04 R28: it has an older version than the run."""
    steps = Steps(OvertakenLedger(lambda row: changed(row, version=NOW_MS - 1)))
    one = job(steps)

    assert close(steps, one, INDEXED) == []
    assert steps.ledger.rows[one.key].task.version == NOW_MS
    assert steps.ledger.rows[one.key].status is Status.COMPLETED


def test_row_that_is_gone_is_not_brought_back() -> None:
    """R28: its document was purged meanwhile."""
    steps = Steps(OvertakenLedger(lambda _: None))

    assert close(steps, job(steps), INDEXED) == []
    assert steps.ledger.rows == {}


class BrokenLedger(MemoryLedger):
    """Refuses writes once it is broken."""

    is_broken = False

    def write(self, rows: Any) -> Swapped:
        if self.is_broken:
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "writing table ledger"))
        return super().write(rows)


def test_message_comes_again_where_the_ledger_takes_no_ending() -> None:
    """R31: the task finds its entry in the index then; no attempt is spent."""
    ledger = BrokenLedger()
    steps = Steps(ledger)
    one = job(steps)
    ledger.is_broken = True

    assert close(steps, one, INDEXED) == [Returned.later(one.message, jitter=0)]
    assert fields(steps, "ledger_failed")["tasks"] == 1
    assert "task_completed" not in steps.events()


class BreaksLater(MemoryLedger):
    """Has one row changed by another writer, and breaks after the write that shows it."""

    writes_left = 99

    def write(self, rows: Any) -> Swapped:
        if not self.writes_left:
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "writing table ledger"))
        self.writes_left -= 1
        return super().write(rows)


def test_only_what_is_not_written_comes_again() -> None:
    """R31: a ledger that breaks half way."""
    ledger = BreaksLater()
    steps = Steps(ledger)
    written, changed_meanwhile = job(steps, "a"), job(steps, "b")
    ledger.write([changed_meanwhile.row])
    ledger.writes_left = 1

    returned = steps.finish.close(
        [steps.finish.end(one, INDEXED) for one in (written, changed_meanwhile)]
    )

    assert returned == [Returned.later(changed_meanwhile.message, jitter=0)]
    assert ledger.rows[written.key].status is Status.COMPLETED
    assert fields(steps, "ledger_failed")["tasks"] == 1


def test_what_came_back_before_the_ledger_broke_comes_back_all_the_same() -> None:
    """R31: each message of the batch gets an answer."""
    ledger = BreaksLater()
    steps = Steps(ledger)
    failed, changed_meanwhile = job(steps, "a"), job(steps, "b")
    ledger.write([changed_meanwhile.row])
    ledger.writes_left = 1
    ended = [steps.finish.end(failed, Failed(BROKEN)), steps.finish.end(changed_meanwhile, INDEXED)]

    returned = steps.finish.close(ended)

    assert [one.message for one in returned] == [failed.message, changed_meanwhile.message]


def test_delay_is_spread_by_chance() -> None:
    """R20: documents that failed together do not come back together."""
    steps = Steps()
    retry = RetrySettings(default=RetryPolicy(base_seconds=10, jitter=1))
    tools = replace(steps.finish.tools, target=make_target(retry=retry), jitter=lambda: 0.5)
    finish = replace(steps.finish, tools=tools)

    assert finish.end(job(steps), Failed(BROKEN)).conclusion.again_in_seconds == 5.0


def rejected(text: str) -> Callable[[int], Failed]:
    return lambda number: Failed(Failure(FailureKind.INVALID_INPUT, f"{text} {number}"))


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (lambda _: Failed(BROKEN), [("failure_bulk", BULK_DOCUMENTS)]),
        (rejected("chunk"), [("failure_isolated", 1)] * BULK_DOCUMENTS),
    ],
    ids=["one cause", "a cause each"],
)
def test_report_has_one_line_for_each_cause(
    ending: Callable[[int], Ending], expected: list[tuple[str, int]]
) -> None:
    """R26: and the next run starts with none."""
    steps = Steps()
    jobs = [job(steps, f"d{number}") for number in range(BULK_DOCUMENTS)]
    steps.finish.close([steps.finish.end(one, ending(n)) for n, one in enumerate(jobs)])

    steps.finish.report()
    steps.finish.report()

    reported = [(n, f["documents"]) for n, f in steps.telemetry.events if n.startswith("failure_")]
    assert reported == expected
    assert steps.telemetry.metrics["BulkFailures"] == (len(expected) == 1)


def last_row(steps: Steps, attempts: int, ending: Ending) -> bool:
    return steps.finish.end(job(steps, attempts=attempts), ending).is_last_attempt


def test_last_attempt_is_known_before_it_is_written() -> None:
    """R27: what was paid can still be indexed instead."""
    assert last_row(Steps(), 2, Failed(BROKEN))
    assert not last_row(Steps(), 1, Failed(BROKEN))
    assert not last_row(Steps(), 2, INDEXED)


def test_end_of_a_row_does_not_write() -> None:
    """R28: deciding is pure; closing writes."""
    steps = Steps()
    one = job(steps)

    ended = steps.finish.end(one, INDEXED)

    row: LedgerRow | None = ended.row
    assert row is not None
    assert row.status is Status.COMPLETED
    assert steps.ledger.rows[one.key] == one.row
