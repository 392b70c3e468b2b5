"""A mass requeue: one goes first, and the others only after it came through."""

from typing import Any

import pytest

from functions.core.failure import FailureKind
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.sweep.canary import CANARY_SECONDS
from functions.sweep.dispatch import CANARY_ABOVE
from functions.sweep.holds import Hold
from tests.builders import make_target
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
        pytest.param(is_busy, id="slow"),
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


def test_canary_is_waited_for_a_minute_at_most(world: World) -> None:
    """R29: and never longer than the run has."""
    world.work = is_busy
    park(world, MANY)
    started_ms = world.clock()

    world.run("due")
    assert world.clock() - started_ms == CANARY_SECONDS * 1000

    world.sweep().run("due", lambda: 20.0)
    assert world.clock() - started_ms == (CANARY_SECONDS + 10) * 1000


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
    world.work = lambda row: completes(row) if row.target == "other" else parks(row)
    park(world, 30)
    others = park(world, 30, target="other")

    world.run("due")

    assert requeued(world) == 31
    assert all(world.row(row).status is not Status.PROCESSING for row in others)
    assert len(world.tasks(Lane.NORMAL, "other")) == 29
