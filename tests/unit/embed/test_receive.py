"""Messages -> jobs: what is worked, what goes back, and what is acknowledged."""

from collections.abc import Sequence
from typing import Any

import pytest

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import DocumentId, RowKey
from functions.core.ledger_row import LedgerRow, Quarantine, Status
from functions.core.next_step import LAST_HIDING_RECEIVE
from functions.core.ports import Message, Swapped
from functions.embed.admit import Verdict
from functions.embed.job import Job, Received, Returned
from functions.embed.receive import AHEAD_MS, ROUND_DOCUMENTS, Admitted, Round
from functions.embed.run_time import RunTime
from local.memory.ledger import MemoryLedger
from tests.builders import NOW_MS, changed, make_message, make_row, make_task
from tests.newer_rows import NewerRows
from tests.unit.embed.steps import RETRY, OvertakenLedger, Steps

TIME = RunTime.begin(lambda: 60.0)


def received(message: Message | None = None, **task: Any) -> Received:
    made = make_task(**task)
    return Received(make_message(made) if message is None else message, made)


def admit(steps: Steps, one: Received) -> Admitted:
    """Admit a task in the only round that it makes."""
    [part], _ = steps.receive.rounds([one])
    return steps.receive.admit(part, TIME)


def put(steps: Steps, **changes: Any) -> LedgerRow:
    row = make_row(revision=0, **changes)
    if isinstance(steps.ledger, OvertakenLedger):
        return steps.ledger.put(row)
    return steps.ledger.write([row]).stored[row.row_key]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("not json", "the body: Invalid JSON"),
        ("{}", "target: Field required"),
        (make_task(target="other").to_json(), "it is for target other and source articles, not"),
        (make_task(source="other").to_json(), "it is for target default and source other, not"),
        (
            make_task(version=NOW_MS + AHEAD_MS + 1).to_json(),
            "its version is more than a day ahead of the clock",
        ),
    ],
    ids=["no json", "no task", "of another target", "of another source", "of the future"],
)
def test_message_that_is_not_ours_goes_back_to_be_moved_by_sqs(body: str, reason: str) -> None:
    """R24: never worked, logged once, and kept for a person."""
    steps = Steps()
    first = make_message(body=body, message_id="first")
    second = make_message(body=body, message_id="second", receive_count=2)

    tasks, returned = steps.receive.parse([first, second])

    assert (tasks, returned) == ([], [Returned(first, 0), Returned(second, 0)])
    [(event, logged)] = steps.telemetry.events
    assert (event, logged["message_id"]) == ("message_malformed", "first")
    assert logged["reason"].startswith(reason)
    assert steps.telemetry.metrics["MessagesMalformed"] == 1


def test_task_of_ours_is_parsed() -> None:
    """R04: target and source are those of this function, and a clock may be a day ahead."""
    task = make_task(version=NOW_MS + AHEAD_MS)
    message = make_message(task)

    assert Steps().receive.parse([message]) == ([Received(message, task)], [])


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

    admitted = admit(steps, one)

    [row] = steps.ledger.rows.values()
    assert row.status is Status.PROCESSING
    assert admitted.jobs == [Job(one.message, one.task, row)]
    assert admitted.returned == []


@pytest.mark.parametrize(
    ("row", "verdict", "goes_back"),
    [
        (None, Verdict.UNKNOWN, False),
        ({"version": NOW_MS + 1}, Verdict.SUPERSEDED, False),
        ({"status": Status.COMPLETED}, Verdict.DONE, False),
        ({"parked": True}, Verdict.WAITS, False),
        ({"status": Status.FAILED, "sent_ms": NOW_MS}, Verdict.DEAD, True),
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

    admitted = admit(steps, one)

    assert admitted.jobs == []
    assert admitted.returned == ([Returned(one.message, 0)] if goes_back else [])
    assert steps.events() == [verdict]
    assert steps.ledger.rows == before


def test_redriven_copy_is_worked_and_not_the_older_one() -> None:
    """R20 R41: both in one batch; the older one would leave the document failed."""
    steps = Steps()
    put(steps, status=Status.FAILED, sent_ms=NOW_MS)
    old, redriven = received(make_message()), received(make_message(sent_ms=NOW_MS + 1))

    assert steps.receive.newest([redriven, old]) == steps.receive.newest([old, redriven])
    admitted = admit(steps, *steps.receive.newest([redriven, old]))

    assert [job.message for job in admitted.jobs] == [redriven.message]


IN_WORK = {"status": Status.PROCESSING, "message_id": "message-1", "receive_count": 1}


def crashed(steps: Steps, **changes: Any) -> Received:
    """Put a row that a run worked alone and never ended, and let its message come again."""
    put(steps, **IN_WORK | {"quarantine": Quarantine.ALONE} | changes)
    return received(make_message(receive_count=2))


def test_suspects_come_first_and_those_alone_last() -> None:
    """R10 R24 R31: the next crash shows which document is the cause; the others are not in it."""
    steps = Steps()
    levels: dict[str, dict[str, Any]] = {
        "twice": {"quarantine": Quarantine.ALONE, "crashes": 2},
        "once": {"quarantine": Quarantine.ALONE, "crashes": 1},
        "new": {},
        "suspect": {"quarantine": Quarantine.GROUP},
        "other suspect": {"quarantine": Quarantine.GROUP},
    }
    for name, changes in levels.items():
        put(steps, document_id=DocumentId(name), **changes)
    many = [received(document_id=DocumentId(name)) for name in levels]
    many += [received(document_id=DocumentId(f"gone {n}")) for n in range(ROUND_DOCUMENTS)]

    rounds, _ = steps.receive.rounds(many)

    names = [[one.task.document_id for one in part.received] for part in rounds]
    assert [names[0], *names[2:]] == [
        ["suspect", "other suspect"],
        [f"gone {ROUND_DOCUMENTS - 1}"],
        ["once"],
        ["twice"],
    ]
    assert (names[1][0], len(names[1])) == ("new", ROUND_DOCUMENTS)


@pytest.mark.parametrize(
    "changes",
    [
        {"quarantine": Quarantine.GROUP},
        {"quarantine": Quarantine.ALONE},
        IN_WORK | {"quarantine": Quarantine.ALONE, "crashes": 1},
    ],
    ids=["together", "alone", "alone, crashed"],
)
def test_suspect_that_sqs_will_soon_move_is_parked_before_all_others(
    changes: dict[str, Any],
) -> None:
    """R34 R35: crashes of others kept it from its turn; one more may be the last it can bear."""
    steps = Steps()
    late = received(
        make_message(make_task(document_id=DocumentId("late")), receive_count=LAST_HIDING_RECEIVE),
        document_id=DocumentId("late"),
    )
    put(steps, document_id=DocumentId("suspect"), quarantine=Quarantine.GROUP)
    put(steps, document_id=DocumentId("late"), **changes)

    rounds, _ = steps.receive.rounds([received(document_id=DocumentId("suspect")), late])
    admitted = steps.receive.admit(rounds[0], TIME)

    assert rounds[0].received == [late]
    assert admitted == Admitted()
    [row] = [row for row in steps.ledger.rows.values() if row.task.document_id == "late"]
    assert row.progress.parked


def test_task_that_another_run_has_goes_back_until_that_one_is_over() -> None:
    """R13 R31: SQS delivered one message twice; it is not paid twice."""
    steps = Steps()
    put(steps, **IN_WORK)
    before = dict(steps.ledger.rows)
    one = received()

    admitted = admit(steps, one)

    assert admitted == Admitted(returned=[Returned(one.message, 90)])
    assert steps.ledger.rows == before


def test_row_that_becomes_a_suspect_meanwhile_is_worked_in_another_run() -> None:
    """R10 R31: never among documents that are not."""
    steps = Steps(OvertakenLedger(lambda row: changed(row, quarantine=Quarantine.ALONE)))
    put(steps)
    one = received()

    admitted = admit(steps, one)

    assert admitted == Admitted(returned=[Returned.soon(one.message, RETRY, jitter=0)])
    assert steps.events() == [Verdict.POSTPONED]


def test_task_of_one_crash_too_many_is_given_up_and_announced() -> None:
    """R24 R27: it ends here, as everywhere, with an event."""
    steps = Steps()
    one = crashed(steps, attempts=2)

    admitted = admit(steps, one)

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

    admitted = admit(steps, one)

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

    admitted = admit(steps, received())

    assert steps.events() == [verdict]
    assert len(admitted.jobs) == (verdict is Verdict.WORK)


@pytest.mark.parametrize("version", [NOW_MS, NOW_MS + 1], ids=["done", "superseded"])
@pytest.mark.parametrize(("receive_count", "events"), [(1, 0), (2, 1)])
def test_end_that_stands_is_announced_after_a_run_that_may_have_crashed(
    version: int, receive_count: int, events: int
) -> None:
    """R27: such a run may have announced an end that it never wrote."""
    steps = Steps()
    put(steps, status=Status.COMPLETED, version=version)

    admit(steps, received(make_message(receive_count=receive_count)))

    assert [(event.version, event.status) for event in steps.announcer.events] == [
        (version, Status.COMPLETED)
    ] * events


def test_task_comes_again_if_the_end_that_stands_cannot_be_announced() -> None:
    """R27: at least once."""
    steps = Steps()
    put(steps, status=Status.COMPLETED)
    steps.announcer.refuses = 1
    one = received(make_message(receive_count=2))

    assert admit(steps, one).returned == [Returned.later(one.message, jitter=0)]


class BrokenRow(MemoryLedger):
    """Cannot write one row."""

    broken: RowKey | None = None

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if any(row.row_key == self.broken for row in rows):
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "throttled"))
        return super().write(rows)


def test_end_that_stands_and_cannot_be_written_holds_its_own_task_only() -> None:
    """R27 R36: the others of its round are worked, or a later run would take them for crashed."""
    ledger = BrokenRow()
    steps = Steps(ledger)
    over = put(steps, document_id=DocumentId("a"), status=Status.COMPLETED).task
    other = put(steps, document_id=DocumentId("b")).task
    again = Received(make_message(over, receive_count=2), over)
    fresh = Received(make_message(other), other)
    part = Round(Quarantine.NONE, [again, fresh], dict(ledger.rows))
    ledger.broken = over.row_key

    admitted = steps.receive.admit(part, TIME)

    assert [job.task for job in admitted.jobs] == [other]
    assert admitted.returned == [Returned.later(again.message, jitter=0)]


def test_end_of_a_newer_version_is_announced_last() -> None:
    """R27 R36: it ended between the reading of the row and the event."""
    newer = NOW_MS + 1
    steps = Steps(OvertakenLedger(lambda row: changed(row, status=Status.SKIPPED, version=newer)))
    put(steps, status=Status.COMPLETED)

    admit(steps, received(make_message(receive_count=2)))

    last = steps.announcer.events[-1]
    assert (last.version, last.status) == (newer, Status.SKIPPED)


def test_row_that_newer_code_wrote_since_it_was_read_goes_back_alone() -> None:
    """R35 R55: the others of its round are worked."""
    ledger = NewerRows()
    steps = Steps(ledger)
    tasks = [put(steps, document_id=DocumentId(name)).task for name in "ab"]
    newer, other = (Received(make_message(task), task) for task in tasks)
    [part], _ = steps.receive.rounds([newer, other])
    ledger.newer = {newer.task.row_key}

    admitted = steps.receive.admit(part, TIME)

    assert [job.task for job in admitted.jobs] == [other.task]
    assert [one.message for one in admitted.returned] == [newer.message]
