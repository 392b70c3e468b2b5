"""A mass requeue: some go first, and the others only after one of them came through."""

from collections.abc import Sequence
from typing import Any

import pytest

from functions.core.failure import FailureKind
from functions.core.lane import Lane
from functions.core.ledger_row import ErrorRecord, LedgerRow, Status
from functions.core.ports import Swapped
from functions.sweep.dispatch import CANARIES, CANARY_SECONDS, judge
from functions.sweep.holds import Hold
from local.memory.ledger import MemoryLedger
from tests.builders import changed, make_target
from tests.unit.sweep.world import Work, World, completes, fails, is_busy, parks

MANY = 130  # more than one round
ALWAYS = FailureKind.PROVIDER_ERROR
WORKED = 10  # by the played worker while the sweep waits once


def park(world: World, count: int, **changes: Any) -> list[LedgerRow]:
    return [world.park(f"d{number}", **changes) for number in range(count)]


def waits_for_its_tenant(row: LedgerRow) -> LedgerRow:
    refused = ErrorRecord(row.queued_ms, FailureKind.TENANT_BUDGET, "injected")
    return parks(changed(row, errors=(refused,)))


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
    """R29: some first, then all of them, round after round."""
    world.work = work
    park(world, MANY)
    started_ms = world.clock()

    world.run("due")

    assert requeued(world) == MANY
    assert len(world.tasks(Lane.NORMAL)) == MANY - WORKED
    assert world.clock() - started_ms < 5000


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(fails(FailureKind.PROVIDER_ERROR), id="failed"),
        pytest.param(parks, id="parked"),
    ],
)
def test_mass_stays_when_no_canary_comes_through(world: World, work: Work) -> None:
    """R29: the next run tries others."""
    world.work = work
    rows = park(world, MANY)

    world.run("due")

    assert requeued(world) == CANARIES
    assert [world.row(row) for row in rows[CANARIES:]] == rows[CANARIES:]
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

    assert requeued(world) == 30 + CANARIES + 30
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
        for number in range(CANARIES + 1):
            world.park(f"{lane}{number}", lane=lane)
    started_ms = world.clock()

    world.run("due")

    assert world.clock() - started_ms == 2000
    assert requeued(world) == lanes * (CANARIES + 1)


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


def test_documents_that_always_fail_do_not_hold_back_the_others(world: World) -> None:
    """R29 R30 R35: one canary that comes through is enough, whatever became of those before it."""
    world.work = lambda row: (
        completes(row) if row.task.document_id.startswith("good") else fails(ALWAYS)(row)
    )
    park(world, CANARIES - 1)
    rows = [world.park(f"good{number}") for number in range(30)]

    world.run("due")

    assert (requeued(world), world.held_back()) == (CANARIES - 1 + len(rows), set())


def test_tenant_without_a_budget_does_not_hold_back_the_others(world: World) -> None:
    """R19 R35: its rows say nothing about the lane, and are not waited for."""
    world.work = waits_for_its_tenant
    park(world, MANY)
    started_ms = world.clock()

    world.run("due")

    assert (requeued(world), world.held_back()) == (MANY, set())
    assert world.clock() - started_ms < 5000


def test_tenant_without_a_budget_proves_nothing(world: World) -> None:
    """R19 R29: the others are held back by what became of them."""
    world.work = lambda row: (
        parks(row) if row.task.document_id == "d0" else waits_for_its_tenant(row)
    )
    park(world, MANY)

    world.run("due")

    assert (requeued(world), world.held_back()) == (CANARIES, {Hold.UNPROVEN})


def test_few_need_no_canary(world: World) -> None:
    """R29: they are not a mass; the clock stands still."""
    started_ms = world.clock()
    park(world, CANARIES)

    world.run("due")

    assert (requeued(world), world.clock()) == (CANARIES, started_ms)


def test_canary_of_one_target_holds_no_other() -> None:
    """R14 R29: one target's trouble is its own."""
    world = World(targets=(make_target(), make_target(name="other")))
    world.work = lambda row: completes(row) if row.task.target == "other" else parks(row)
    park(world, 30)
    others = park(world, 30, target="other")

    world.run("due")

    assert requeued(world) == CANARIES + 30
    assert all(world.row(row).status is not Status.PROCESSING for row in others)
    assert len(world.tasks(Lane.NORMAL, "other")) == 30 - 2 * WORKED
