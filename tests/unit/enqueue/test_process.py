"""Enqueue on the in-memory engines: coalescing, fan-out and what a failed send means."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from functions.core.change import Change
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import DocumentId, RowKey, row_key
from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.ports import Swapped
from functions.core.task import Task
from functions.enqueue.process import Enqueue
from local.memory.control import MemoryControl
from local.memory.ledger import MemoryLedger
from local.memory.pipeline import MemoryPipeline
from local.memory.queues import MemoryQueues
from local.memory.runtime import MemoryTelemetry, MovableClock
from tests.builders import (
    make_change,
    make_pipeline,
    make_position,
    make_row,
    make_source,
    make_target,
)
from tests.newer_rows import NewerRows


class RefusingQueues(MemoryQueues):
    """Refuses the tasks of some documents, as a SendMessageBatch that fails in part."""

    def __init__(self, clock: MovableClock, refused: set[str]) -> None:
        super().__init__(clock)
        self.refused = refused

    def send(self, tasks: Sequence[Task]) -> list[Task]:
        bad = [task for task in tasks if task.document_id in self.refused]
        super().send([task for task in tasks if task not in bad])
        return bad


def make_enqueue(queue: MemoryQueues, ledger: MemoryLedger | None = None) -> Enqueue:
    return Enqueue(
        ledger=ledger or MemoryLedger(),
        queue=queue,
        control=MemoryControl(),
        telemetry=MemoryTelemetry(),
        clock=MovableClock(),
        sources={"articles": make_source()},
        targets={"default": make_target()},
    )


def change(name: str, number: int) -> Change:
    return make_change(
        document_id=DocumentId(name),
        key={"id": {"S": name}},
        position=make_position(number),
        sequence_number=str(number),
    )


class ForgetfulLedger(MemoryLedger):
    """Takes a row, but not that its task was not sent."""

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if not all(row.progress.sent for row in rows):
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "throttled"))
        return super().write(rows)


def test_index_of_a_target_is_looked_up_only_for_known_documents() -> None:
    """R06: a new one cannot be unchanged; where it is unknown, nothing is."""
    enqueue = make_enqueue(MemoryQueues(MovableClock()))
    control, telemetry = enqueue.control, enqueue.telemetry
    assert isinstance(control, MemoryControl)
    assert isinstance(telemetry, MemoryTelemetry)
    control.is_down = True

    enqueue.process([replace(change("a", 1), inserted=True)])
    assert telemetry.metrics["ControlUnreadable"] == 0

    enqueue.process([change("a", 2)])
    assert telemetry.metrics["ControlUnreadable"] == 1


def test_unknown_priority_is_logged_without_its_value() -> None:
    """R32 R63: the document takes the lane normal; the value is the application's."""
    enqueue = make_enqueue(MemoryQueues(MovableClock()))
    telemetry = enqueue.telemetry
    assert isinstance(telemetry, MemoryTelemetry)

    enqueue.process(
        [replace(change("a", 1), priority="secret"), replace(change("b", 2), priority="low")]
    )

    said = [fields for name, fields in telemetry.events if name == "priority_unknown"]
    assert said == [{"source": "articles", "document_id": "a"}]


def test_document_that_could_not_be_sent_is_left_to_the_sweep() -> None:
    """R04 R14: a queue in trouble holds back neither the stream nor another target."""
    ledger = MemoryLedger()
    enqueue = make_enqueue(RefusingQueues(MovableClock(), {"b"}), ledger)

    failed = enqueue.process([change("a", 1), change("b", 2)])

    assert failed == []
    assert {row.task.document_id: row.group for row in ledger.rows.values()} == {
        "a": Group.OPEN,
        "b": Group.PARKED,
    }


class CountingLedger(MemoryLedger):
    """Keeps what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.read_keys: list[RowKey] = []
        self.writes = 0

    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        wanted = list(keys)
        self.read_keys += wanted
        return super().read(wanted)

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        self.writes += 1
        return super().write(rows)


def test_ledger_is_asked_only_for_what_it_may_have() -> None:
    """R04: an insert needs no read, and a batch that is sent needs one write."""
    ledger = CountingLedger()
    enqueue = make_enqueue(MemoryQueues(MovableClock()), ledger)

    enqueue.process([replace(change("new", 1), inserted=True), change("old", 2)])

    assert (ledger.read_keys, ledger.writes) == (["default/articles/old"], 1)


def test_trace_of_a_change_is_on_its_task() -> None:
    """R63: one id from the write to the entry; none where none is known."""
    enqueue = make_enqueue(MemoryQueues(MovableClock()), ledger := MemoryLedger())

    enqueue.process([change("a", 1)], trace_id="1-abc")
    enqueue.process([change("b", 2)])

    assert [row.task.trace_id for row in ledger.rows.values()] == ["1-abc", ""]


def test_document_that_no_store_takes_is_reported_by_its_first_record() -> None:
    """R04 R10: the stream comes again from there, and nothing of the document is lost."""
    enqueue = make_enqueue(RefusingQueues(MovableClock(), {"b"}), ForgetfulLedger())

    failed = enqueue.process([change("a", 1), change("b", 2), change("a", 3), change("b", 4)])

    assert failed == ["2"]


def test_redelivery_after_a_failed_send_sends_the_same_task() -> None:
    """R04 R31: the version is in the ledger; the second try makes no other one."""
    queues = RefusingQueues(MovableClock(), {"b"})
    enqueue = make_enqueue(queues)
    enqueue.process([change("b", 2)])
    version = next(iter(enqueue.ledger.rows.values())).task.version  # type: ignore[attr-defined]
    queues.refused.clear()

    failed = enqueue.process([change("b", 2)])

    [message] = queues.receive("default/normal", 10)
    assert failed == []
    assert f'"version":{version}' in message.body


def test_many_changes_of_a_document_in_a_batch_are_one_task() -> None:
    """R05: only the last one counts."""
    pipeline = make_pipeline()
    for number in range(20):
        pipeline.tables["articles"].put({"id": "a", "body": f"edit {number}"})

    pipeline.deliver_new()

    assert pipeline.queues.depth("default/normal") == 1
    assert pipeline.telemetry.metrics["ChangesCoalesced"] == 19


def test_source_with_two_targets_gets_a_task_in_each() -> None:
    """R14: each target has its own lanes and rows."""
    pipeline = MemoryPipeline(
        [make_source(targets=("small", "large"))],
        [make_target(name="small"), make_target(name="large", dimensions=32)],
    )
    pipeline.tables["articles"].put({"id": "a", "body": "hello"})

    pipeline.deliver_new()

    assert [pipeline.queues.depth(f"{name}/normal") for name in ("small", "large")] == [1, 1]
    assert sorted(pipeline.ledger.rows) == ["large/articles/a", "small/articles/a"]


def test_record_without_a_usable_key_is_recorded_and_blocks_nothing() -> None:
    """R02: a row with the reason; the other records of the batch go on."""
    pipeline = make_pipeline()
    table = pipeline.tables["articles"]
    table.put({"id": "a", "body": "bad"})
    table.put({"id": "b", "body": "good"})
    table.put({"id": "c", "body": "bad too"})
    for record in (table.stream[0], table.stream[2]):
        record["dynamodb"]["Keys"] = {"other": {"S": "a"}}

    failed = pipeline.deliver(table.stream)

    row = pipeline.row("stream record event-1", source="articles")
    assert failed == []
    assert row is not None
    assert (row.status, row.outcome.reason) == (
        Status.FAILED,
        "the item's key has ['other'], the source is configured with ['id']",
    )
    assert pipeline.row("stream record event-3", source="articles") is not None
    assert pipeline.telemetry.metrics["ChangesRejected"] == 2
    assert pipeline.queues.depth("default/normal") == 1


def test_record_whose_row_newer_code_wrote_holds_no_other_back() -> None:
    """R02 R35 R55: it is the same record, which that code has recorded."""
    ledger = NewerRows()
    pipeline = make_pipeline(ledger=ledger)
    table = pipeline.tables["articles"]
    for name in "abc":
        table.put({"id": name, "body": "text"})
    for record in table.stream[:2]:
        record["dynamodb"]["Keys"] = {"other": {"S": "a"}}
    ledger.newer = {row_key("default", "articles", DocumentId("stream record event-1"))}

    assert pipeline.deliver(table.stream) == []

    assert pipeline.row("stream record event-2", source="articles") is not None
    assert pipeline.queues.depth("default/normal") == 1


class RacingLedger(MemoryLedger):
    """Lets another writer win the first swap."""

    def __init__(self) -> None:
        super().__init__()
        self.raced = False

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if rows and not self.raced:
            self.raced = True
            super().write([make_row(revision=0, version=rows[0].task.version + 7)])
        return super().write(rows)


def test_change_that_lost_a_race_is_planned_on_what_won() -> None:
    """R04: the version ends above the other writer's."""
    ledger = RacingLedger()

    make_enqueue(MemoryQueues(MovableClock()), ledger).process([change("a", 100)])

    [row] = ledger.rows.values()
    assert (row.task.version, row.position) == (MovableClock()() + 8, make_position(100))
