"""Replay: what the stream gave up passes enqueue again, and is removed only after that."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from functions.core.change import Change, Rejected
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Swapped
from functions.core.task import Task
from functions.sweep.process import SweepError
from functions.sweep.replay import Replay, ReplayError
from local.memory.ledger import MemoryLedger
from local.memory.queues import MemoryQueues
from local.memory.table import MemoryTable
from tests.unit.sweep.world import World


def set_aside(world: World, name: str, records: Sequence[dict[str, Any]]) -> None:
    """Put records where Lambda puts those that it gives up."""
    record = {"version": "1.0", "payload": json.dumps({"Records": records})}
    world.failed_changes.objects[name] = json.dumps(record).encode()


def written(world: World, *items: dict[str, Any]) -> list[dict[str, Any]]:
    """Write items to the source's table; return the stream's records."""
    table = MemoryTable(world.sources[0], world.clock)
    for item in items:
        table.put(item)
    return table.stream


def test_failed_change_becomes_a_task(world: World) -> None:
    """R29 R31: nothing that the stream gave up is lost."""
    set_aside(world, "one", written(world, {"id": "a", "body": "x"}, {"id": "b", "body": "y"}))

    world.run("maintenance")

    assert {task.document_id for task in world.tasks(Lane.NORMAL)} == {"a", "b"}
    assert world.failed_changes.objects == {}
    assert world.telemetry.metrics["ChangesReplayed"] == 2


def test_replayed_change_never_overtakes_a_newer_one(world: World) -> None:
    """R04: positions decide, however late it comes."""
    old, new = written(world, {"id": "a", "body": "old"}, {"id": "a", "body": "new"})
    set_aside(world, "new", [new])
    world.run("maintenance")
    [task] = world.tasks(Lane.NORMAL)
    set_aside(world, "old", [old])

    world.run("maintenance")

    assert world.tasks(Lane.NORMAL) == [task]
    assert world.failed_changes.objects == {}


class ReadOnly(MemoryLedger):
    """A ledger that takes nothing."""

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if rows:
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "throttled"))
        return super().write(rows)


def test_change_that_the_ledger_does_not_take_is_kept(world: World) -> None:
    """R31: and replayed by a later run."""
    set_aside(world, "one", written(world, {"id": "a", "body": "x"}))

    with pytest.raises(SweepError, match="replay: 1 batches, such as one: store_unavailable"):
        world.run("maintenance", ledger=ReadOnly())
    assert list(world.failed_changes.objects) == ["one"]

    world.run("maintenance")
    assert len(world.tasks(Lane.NORMAL)) == 1
    assert world.failed_changes.objects == {}


class Refuses:
    """An enqueue that takes no change with so many sequence numbers."""

    def __init__(self, *numbers: str) -> None:
        self.numbers = numbers
        self.taken: list[Change] = []

    def process(self, changes: Sequence[Change], *, trace_id: str = "") -> list[str]:  # noqa: ARG002
        self.taken += changes
        return [one.sequence_number for one in changes if one.sequence_number in self.numbers]

    def reject(self, records: Sequence[Rejected]) -> None: ...


def test_batch_of_which_a_change_was_not_sent_is_kept(world: World) -> None:
    """R31: and the reason says how much of it."""
    records = written(world, {"id": "a", "body": "x"}, {"id": "b", "body": "y"})
    set_aside(world, "one", records)
    refuses = Refuses(records[1]["dynamodb"]["SequenceNumber"])

    with pytest.raises(ReplayError, match="such as one: 1 of 2 changes were not sent"):
        Replay(world.failed_changes, refuses, world.telemetry).run(lambda: 1.0)

    assert list(world.failed_changes.objects) == ["one"]


def test_no_batch_is_begun_after_the_time(world: World) -> None:
    """R31: the next run goes on, and what went wrong before is reported, for the alarm."""
    set_aside(world, "a", written(world, {"id": "a", "body": "x"}))
    world.failed_changes.objects |= {"b": b"", "c": b""}
    time = iter([0.5, 0.5, 0.0])

    with pytest.raises(ReplayError, match="1 batches, such as b"):
        Replay(world.failed_changes, Refuses(), world.telemetry).run(lambda: next(time))

    assert list(world.failed_changes.objects) == ["b", "c"]


class Refusing(MemoryQueues):
    """A queue that takes nothing."""

    def send(self, tasks: Sequence[Task]) -> list[Task]:
        return list(tasks)


def test_change_that_the_queue_does_not_take_is_owed(world: World) -> None:
    """R31: the ledger has it, so that the minute's job sends it."""
    set_aside(world, "one", written(world, {"id": "a", "body": "x"}))
    world.run("maintenance", queue=Refusing(world.clock))

    world.clock.advance(60)
    world.run("due")

    assert len(world.tasks(Lane.NORMAL)) == 1
    assert world.failed_changes.objects == {}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"payload": "{}"}', b'{"payload": "{"}', b'{"requestContext": {}}'],
)
def test_unreadable_object_stops_no_other(world: World, body: bytes) -> None:
    """R10: it is kept for a person, logged without its content, and the run ends in an error."""
    world.failed_changes.objects["bad"] = body
    set_aside(world, "good", written(world, {"id": "a", "body": "x"}))

    with pytest.raises(SweepError, match="bad: it is not an invocation record of a stream"):
        world.run("maintenance")

    assert list(world.failed_changes.objects) == ["bad"]
    assert len(world.tasks(Lane.NORMAL)) == 1


def test_records_of_an_unknown_table_are_kept(world: World) -> None:
    """R10: a source that is no longer configured."""
    [record] = written(world, {"id": "a", "body": "x"})
    arn = record["eventSourceARN"].replace("articles-table", "former-table")
    set_aside(world, "one", [record | {"eventSourceARN": arn}])

    with pytest.raises(SweepError, match="no source has the table former-table"):
        world.run("maintenance")

    assert list(world.failed_changes.objects) == ["one"]


def test_record_that_names_no_document_is_recorded(world: World) -> None:
    """R10: as enqueue does it."""
    [record] = written(world, {"id": "a", "body": "x"})
    record["dynamodb"].pop("Keys")
    set_aside(world, "one", [record])

    world.run("maintenance")

    [row] = world.ledger.read([RowKey("default/articles/stream record event-1")]).values()
    assert (row.status, row.outcome.reason) == (Status.FAILED, "the record has no Keys")
    assert world.failed_changes.objects == {}
