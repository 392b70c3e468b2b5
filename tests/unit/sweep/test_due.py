"""Parked rows: sent when they are due, once, to the lane they came from."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from functions.core.breaker import Circuit
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.ports import Listed, Swapped
from functions.core.task import Task
from functions.core.transitions import CONFIRM_MS
from functions.sweep.holds import MAX_WAITING, Hold
from functions.sweep.process import SweepError
from local.memory.ledger import MemoryLedger
from local.memory.queues import MemoryQueues
from tests.builders import NOW_MS, changed
from tests.unit.sweep.world import HOUR_MS, World


def test_due_row_is_sent_to_its_lane_under_a_new_version(world: World) -> None:
    """R29: its attempts and free retries stay; nothing more is owed."""
    parked = world.park("a", lane=Lane.HIGH, attempts=2, free_retries=3)

    world.run("due")

    row = world.row(parked)
    assert world.tasks(Lane.HIGH) == [row.task]
    assert row.task.version > parked.task.version
    assert (row.status, row.progress.attempts, row.progress.free_retries) == (Status.PENDING, 2, 3)
    assert (row.progress.parked, row.progress.sent, row.progress.next_attempt_ms) == (
        False,
        True,
        None,
    )
    assert world.telemetry.metrics["TasksRequeued"] == 1


def test_row_that_is_not_due_stays(world: World) -> None:
    """R20 R29: its backoff is not cut short."""
    parked = world.park("a", in_ms=1)

    world.run("due")

    assert world.row(parked) == parked
    world.clock.advance(0.001)
    world.run("due")
    assert len(world.tasks(Lane.NORMAL)) == 1


def test_row_on_its_way_is_not_sent_again(world: World) -> None:
    """R29: already queued is not lost."""
    world.park("a")

    for _ in range(5):
        world.run("due")
        world.clock.advance(600)

    assert len(world.tasks(Lane.NORMAL)) == 1


class ReadsFirst(MemoryLedger):
    """A ledger whose reader is overtaken: between its read and its write another one runs."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.rows = world.ledger.rows  # type: ignore[attr-defined]
        self._world = world

    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        rows = super().read(keys)
        self._world.run("due")
        return rows


def test_two_sweeps_at_once_send_once(world: World) -> None:
    """R29 R31: both read, both write; the ledger lets one win."""
    parked = [world.park(name) for name in "abc"]

    world.run("due", ledger=ReadsFirst(world))

    assert world.tasks(Lane.NORMAL) == [world.row(row).task for row in parked]
    assert world.telemetry.metrics["TasksRequeued"] == 3


class Behind(MemoryLedger):
    """A ledger whose index still shows how things stood at first."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.rows = world.ledger.rows  # type: ignore[attr-defined]
        self._listed = list(super().listed(list(Group)))

    def listed(self, groups: Sequence[Group], **_: object) -> Iterator[Listed]:  # noqa: ARG002
        yield from self._listed


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"status": Status.COMPLETED}, id="completed"),
        pytest.param({"parked": False}, id="on its way"),
        pytest.param({"next_attempt_ms": NOW_MS + HOUR_MS}, id="parked for longer"),
    ],
)
def test_row_decides_and_not_the_index(world: World, changes: dict[str, Any]) -> None:
    """R29: on AWS the sparse index is a moment behind."""
    parked = world.park("a")
    behind = Behind(world)
    world.ledger.write([changed(parked, **changes)])
    before = world.row(parked)

    world.run("due", ledger=behind)

    assert world.row(parked) == before


class Dying(MemoryQueues):
    """A queue before which the sweep is killed."""

    def send(self, tasks: Sequence[Task]) -> list[Task]:  # noqa: ARG002
        raise FailureError(Failure(FailureKind.UNKNOWN, "killed"))


def test_crash_between_ledger_and_queue_costs_minutes(world: World) -> None:
    """R29 R31: an owed row is due again after five minutes, and not before."""
    parked = world.park("a")
    with pytest.raises(SweepError):
        world.run("due", queue=Dying(world.clock))
    owed = world.row(parked)

    world.clock.advance(CONFIRM_MS / 1000 - 1)
    world.run("due")
    assert world.row(parked) == owed

    world.clock.advance(1)
    world.run("due")

    row = world.row(parked)
    assert world.tasks(Lane.NORMAL) == [row.task]
    assert row.task.version > owed.task.version > parked.task.version


class Refusing(MemoryQueues):
    """A queue that takes nothing."""

    def send(self, tasks: Sequence[Task]) -> list[Task]:
        return list(tasks)


def test_task_that_sqs_refuses_stays_owed(world: World) -> None:
    """R29 R31: it is not confirmed, and comes again."""
    parked = world.park("a")
    world.run("due", queue=Refusing(world.clock))

    assert (world.row(parked).progress.sent, world.telemetry.metrics["TasksRequeued"]) == (False, 0)
    world.clock.advance(CONFIRM_MS / 1000)
    world.run("due")

    assert world.tasks(Lane.NORMAL) == [world.row(parked).task]


class Fast(MemoryLedger):
    """A ledger in which a worker starts a task before its sender can confirm it."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.rows = world.ledger.rows  # type: ignore[attr-defined]
        self._world = world

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        self._world.wait(0)
        return super().write(rows)


def test_worker_that_is_faster_than_the_confirmation_keeps_its_row(world: World) -> None:
    """R29 R31: the confirmation loses, and that is all."""
    parked = world.park("a")

    world.run("due", ledger=Fast(world))

    assert (world.row(parked).status, world.tasks(Lane.NORMAL)) == (Status.COMPLETED, [])
    world.clock.advance(600)
    world.run("due")
    assert world.telemetry.metrics["TasksRequeued"] == 1


@pytest.mark.parametrize("state", [Circuit.OPEN, Circuit.PAUSED])
@pytest.mark.parametrize(
    ("part", "sent"), [(Part.PROVIDER, [Lane.DELETE]), (Part.INDEX, [])], ids=["provider", "index"]
)
def test_breaker_holds_what_would_only_wait(
    world: World, state: Circuit, part: Part, sent: list[Lane]
) -> None:
    """R15 R25: a paused lane gets nothing; deletes go on without the provider."""
    lanes = (Lane.HIGH, Lane.NORMAL, Lane.BULK, Lane.DELETE)
    for lane in lanes:
        world.park(str(lane), lane=lane)
    world.switch(part, state)

    world.run("due")

    assert [lane for lane in lanes if world.tasks(lane)] == sent
    assert world.held_back() == {Hold.STOPPED}
    world.switch(part, Circuit.REOPENING)
    world.run("due")
    assert [lane for lane in lanes if world.tasks(lane)] == list(lanes)


def test_unreadable_breaker_stops_no_work(world: World) -> None:
    """R25: the stated rule: go on, and count it."""
    world.park("a")
    world.control.is_down = True

    world.run("due")

    assert len(world.tasks(Lane.NORMAL)) == 1
    assert world.telemetry.metrics["ControlUnreadable"] == 1


def test_backlog_does_not_hold_a_due_row(world: World) -> None:
    """R29: it has no message yet: the tail is its place, and it would starve otherwise."""
    parked = world.park("a")
    world.fill(Lane.NORMAL, MAX_WAITING + 1)

    world.run("due")

    assert world.row(parked).progress.sent


def test_row_of_a_target_that_is_gone_is_left_alone(world: World) -> None:
    """R29: it has neither lanes nor breakers."""
    parked = world.park("a", target="former")

    world.run("due")

    assert world.row(parked) == parked
    assert world.held_back() == {Hold.UNDEPLOYED}


def test_row_of_a_source_that_is_gone_is_left_alone(world: World) -> None:
    """R29: no function knows its table any more."""
    parked = world.park("a", source="former")

    world.run("due")

    assert world.row(parked) == parked
    assert world.held_back() == {Hold.UNDEPLOYED}


def test_reason_is_told_once_a_run(world: World) -> None:
    """R63: a thousand rows with one cause are one line."""
    for number in range(30):
        world.park(f"d{number}", in_ms=-HOUR_MS)
    world.switch(Part.INDEX, Circuit.OPEN)

    world.run("due")

    assert [name for name, _ in world.telemetry.events] == ["requeue_held_back"]
