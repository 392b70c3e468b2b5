"""A mass requeue: one goes first, and the others only after it came through."""

from collections.abc import Sequence
from typing import Any

import pytest

from functions.core.failure import FailureKind
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Swapped
from functions.sweep.dispatch import CANARY_ABOVE, CANARY_SECONDS, judge
from functions.sweep.holds import Hold
from local.memory.ledger import MemoryLedger
from tests.builders import changed, make_target
from tests.unit.sweep.world import Work, World, completes, fails, is_busy, parks

MANY = 130  # more than one round


def park(world: World, count: int, **changes: Any) -> list[LedgerRow]:
    return [world.park(f"d{number}", **changes) for number in range(count)]


def requeued(world: World) -> int:
    return world.telemetry.metrics["TasksRequeued"]


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(completes, id="completed"),
        # Refused for what it is, it has been all the way.
        pytest.param(fails(FailureKind.INVALID_INPUT), id="refused for itself"),
    ],
)
def test_mass_follows_a_canary_that_came_through(world: World, work: Work) -> None:
    """R29: one first, then all of them, round after round."""
    world.work = work
    park(world, MANY)
    started_ms = world.clock()

    world.run("due")

    assert requeued(world) == MANY
    assert len(world.tasks(Lane.NORMAL)) == MANY - 1
    assert world.clock() - started_ms < 5000


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(fails(FailureKind.PROVIDER_ERROR), id="failed"),
        pytest.param(parks, id="parked"),
    ],
)
def test_mass_stays_when_its_canary_does_not_come_through(world: World, work: Work) -> None:
    """R29: the next run tries another one."""
    world.work = work
    rows = park(world, MANY)

    world.run("due")

    assert requeued(world) == 1
    assert [world.row(row) for row in rows[1:]] == rows[1:]
    assert world.held_back() == {Hold.UNPROVEN}
    world.work = completes
    world.run("due")
    assert requeued(world) == MANY


@pytest.mark.parametrize(("run_seconds", "waited"), [(300.0, CANARY_SECONDS), (20.0, 10.0)])
def test_mass_follows_a_canary_that_is_slow(
    world: World, run_seconds: float, waited: float
) -> None:
    """R29: a minute later, or when the run ends: a backlog or a long window stops no lane."""
    world.work = is_busy
    park(world, MANY)
    started_ms = world.clock()

    world.sweep().run("due", lambda: run_seconds)

    assert world.clock() - started_ms == waited * 1000
    assert (requeued(world), world.held_back()) == (MANY, set())


def test_canary_of_one_lane_holds_no_other(world: World) -> None:
    """R14 R29: a lane that is slow, a lane that is broken, and one that is neither."""
    works = {Lane.HIGH: completes, Lane.NORMAL: parks, Lane.BULK: is_busy}
    world.work = lambda row: works[row.task.lane](row)
    for lane in works:
        for number in range(30):
            world.park(f"{lane}{number}", lane=lane)
    started_ms = world.clock()

    world.run("due")

    assert requeued(world) == 30 + 1 + 30
    assert world.clock() - started_ms == CANARY_SECONDS * 1000
    [logged] = [fields for name, fields in world.telemetry.events if name == "requeue_held_back"]
    assert (logged["lane"], logged["reason"]) == (Lane.NORMAL, Hold.UNPROVEN)


def test_slow_canaries_share_one_minute(world: World) -> None:
    """R29: with a quick one before them; a run with many lanes still has time to send."""
    world.work = lambda row: completes(row) if row.task.lane is Lane.HIGH else is_busy(row)
    for number, lane in enumerate((Lane.HIGH, Lane.NORMAL, Lane.BULK, Lane.DELETE)):
        for name in range(MANY):
            world.park(f"{lane}{name}", lane=lane, in_ms=number - 10)
    started_ms = world.clock()

    world.run("due")

    assert world.clock() - started_ms == CANARY_SECONDS * 1000
    assert requeued(world) == 4 * MANY


@pytest.mark.parametrize("lanes", [1, 2])
def test_time_of_quick_canaries_is_all_that_is_used(world: World, lanes: int) -> None:
    """R29: two seconds for each poll, so that the others have the rest of the minute."""
    for lane in (Lane.NORMAL, Lane.HIGH)[:lanes]:
        for number in range(CANARY_ABOVE + 1):
            world.park(f"{lane}{number}", lane=lane)
    started_ms = world.clock()

    world.run("due")

    assert world.clock() - started_ms == 2000
    assert requeued(world) == lanes * (CANARY_ABOVE + 1)


def test_canary_whose_row_is_gone_came_through() -> None:
    """R29: its document was deleted and purged meanwhile."""
    assert judge(None) is True


def test_canary_that_another_sweep_has_sent_holds_no_lane(world: World) -> None:
    """R29 R31: a newer change, or another sweep, was faster with that one document."""
    rows = park(world, 30)
    overtaken = OvertakesFirst(world.ledger)

    world.run("due", ledger=overtaken)

    assert requeued(world) == 29
    assert all(world.row(row).task.version > row.task.version for row in rows)


class OvertakesFirst(MemoryLedger):
    """A ledger in which the first row to be written was written by another one before."""

    def __init__(self, ledger: Any) -> None:
        super().__init__()
        self.rows = ledger.rows
        self._is_first = True

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if self._is_first:
            self._is_first = False
            newer = changed(self.rows[rows[0].row_key], version=rows[0].task.version + 1)
            super().write([newer])
        return super().write(rows)


def test_parked_canary_is_not_waited_for(world: World) -> None:
    """R29: its way is not free, and that is known at once."""
    world.work = parks
    park(world, MANY)
    started_ms = world.clock()

    world.run("due")

    assert world.clock() - started_ms < 5000


def test_few_need_no_canary(world: World) -> None:
    """R29: they are not a mass; the clock stands still."""
    started_ms = world.clock()
    park(world, CANARY_ABOVE)

    world.run("due")

    assert (requeued(world), world.clock()) == (CANARY_ABOVE, started_ms)


def test_canary_of_one_target_holds_no_other() -> None:
    """R14 R29: one target's trouble is its own."""
    world = World(targets=(make_target(), make_target(name="other")))
    world.work = lambda row: completes(row) if row.task.target == "other" else parks(row)
    park(world, 30)
    others = park(world, 30, target="other")

    world.run("due")

    assert requeued(world) == 31
    assert all(world.row(row).status is not Status.PROCESSING for row in others)
    assert len(world.tasks(Lane.NORMAL, "other")) == 29
