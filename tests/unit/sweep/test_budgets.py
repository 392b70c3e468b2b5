"""Documents over budget: not even listed while it is used up, and sent when there is room."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from functions.core.budget import Raised, Spent
from functions.core.control import Control
from functions.core.lane import Lane
from functions.core.ledger_row import Group, LedgerRow
from functions.core.ports import Listed
from functions.sweep.holds import MAX_WAITING, Hold
from local.memory.ledger import MemoryLedger
from tests.builders import make_target
from tests.unit.sweep.world import HOUR_MS, World

FULL = Spent("2023-11-14", 1000, "2023-11")
BULK_IS_FULL = Spent("2023-11-14", 800, "2023-11")


class CountingLedger(MemoryLedger):
    """Notes which groups were listed."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: set[Group] = set()

    def listed(self, groups: Sequence[Group], **options: Any) -> Iterator[Listed]:
        self.groups |= set(groups)
        return super().listed(groups, **options)


@pytest.fixture
def ledger() -> CountingLedger:
    return CountingLedger()


@pytest.fixture
def world(ledger: CountingLedger) -> World:
    target = make_target(budget={"tokens_per_day": 1000}, chunk_tokens=100)
    return World(targets=(target,), ledger=ledger)


def wait_for_budget(world: World, name: str, lane: Lane = Lane.NORMAL) -> LedgerRow:
    return world.park(name, lane=lane, over_budget=True)


def spend(world: World, spent: Spent) -> None:
    world.control.items["default"] = Control(spent=spent)


def test_nothing_is_listed_while_the_budget_is_used_up(
    world: World, ledger: CountingLedger
) -> None:
    """R19: a million documents that wait cost nothing."""
    spend(world, FULL)
    row = wait_for_budget(world, "a")

    world.run("due")

    assert Group.OVER_BUDGET not in ledger.groups
    assert world.row(row).group is Group.OVER_BUDGET
    assert world.telemetry.metrics["BudgetUsedPercent"] == 100


def test_new_day_and_raised_budget_send_what_waits(world: World) -> None:
    """R19: within a minute, to its lane, without an attempt."""
    spend(world, FULL)
    first, second = wait_for_budget(world, "a"), wait_for_budget(world, "b", Lane.BULK)
    world.run("due")
    assert (world.tasks(Lane.NORMAL), world.tasks(Lane.BULK)) == ([], [])

    raised = Raised(world.clock() + HOUR_MS, tokens=2000, reason="x", since_ms=1, is_logged=False)
    world.control.raise_budget("default", Raised(), raised)
    world.run("due")

    assert world.tasks(Lane.NORMAL) == [world.row(first).task]
    assert world.tasks(Lane.BULK) == [world.row(second).task]
    assert world.row(first).group is Group.OPEN
    assert world.row(first).progress.attempts == 0


def test_raise_is_logged_once_with_its_reason(world: World) -> None:
    """R19 R63: a command has no log of its own."""
    raised = Raised(5, tokens=2000, nanousd=5, reason="a reload", since_ms=1, is_logged=False)
    world.control.raise_budget("default", Raised(), raised)

    world.run("due")
    world.run("due")

    logged = [fields for name, fields in world.telemetry.events if name == "budget_raised"]
    assert [(one["reason"], one["tokens_per_day"]) for one in logged] == [("a reload", 2000)]


def test_bulk_waits_while_live_work_has_its_share(world: World) -> None:
    """R19: and says why."""
    spend(world, BULK_IS_FULL)
    live, bulk = wait_for_budget(world, "a"), wait_for_budget(world, "b", Lane.BULK)

    world.run("due")

    assert world.row(live).group is Group.OPEN
    assert world.row(bulk).group is Group.OVER_BUDGET
    assert world.held_back() == {Hold.BUDGET}
    assert "budget_nearly_used" in [name for name, _ in world.telemetry.events]


def test_no_more_is_sent_in_a_run_than_a_lane_holds(world: World) -> None:
    """R19: what waits may be a thousand times what a day pays for."""
    for number in range(MAX_WAITING + 50):
        wait_for_budget(world, f"d{number}")

    world.run("due")

    sent = world.telemetry.metrics["TasksRequeued"]
    assert sent == MAX_WAITING + 1
    assert Hold.BACKLOG in world.held_back()


def test_documents_parked_for_another_reason_go_on(world: World) -> None:
    """R19: what needs no request is not held by the budget."""
    spend(world, FULL)
    row = world.park("a")

    world.run("due")

    assert world.row(row).group is Group.OPEN


def test_target_whose_budget_was_removed_sends_what_waits(world: World) -> None:
    """R19: every 15 minutes."""
    plain = World(targets=(make_target(),), ledger=world.ledger, clock=world.clock)
    row = wait_for_budget(plain, "a")

    plain.run("due")
    assert plain.row(row).group is Group.OVER_BUDGET
    plain.run("maintenance")

    assert plain.row(row).group is Group.OPEN


def test_unreadable_control_item_sends_nothing(world: World) -> None:
    """R19: what waits is safe; the other jobs do their work."""
    row = wait_for_budget(world, "a")
    world.control.is_down = True

    world.run("due")

    assert world.row(row).group is Group.OVER_BUDGET
    assert world.telemetry.metrics["ControlUnreadable"] >= 1
