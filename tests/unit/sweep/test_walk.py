"""A run that is cut off goes on where it stopped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from functions.adapters.dynamodb_ledger import OPEN_SHARDS, shard_of
from functions.core.breaker import Circuit
from functions.core.failure import Part
from functions.core.ledger_row import Group
from functions.core.ports import START, Cursor, Listed
from functions.sweep.process import FINISH_SECONDS
from functions.sweep.requeue import ROUND_ROWS
from functions.sweep.walk import Walk
from local.memory.ledger import MemoryLedger
from tests.unit.sweep.world import World

ROWS = 2 * ROUND_ROWS + 50


class Sharded(MemoryLedger):
    """A ledger that lists shard by shard, and remembers where it was asked to begin."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[Cursor] = []
        self.yielded: list[Listed] = []

    def listed(
        self, groups: Sequence[Group], *, due_ms: int | None = None, start: Cursor = START
    ) -> Iterator[Listed]:
        self.begun.append(start)
        for number in range(OPEN_SHARDS):
            shard = (int(start or 0) + number) % OPEN_SHARDS
            for one in list(super().listed(groups, due_ms=due_ms)):
                if shard_of(one.row_key) == shard:
                    self.yielded.append(replace(one, cursor=Cursor(str(shard))))
                    yield self.yielded[-1]


@pytest.fixture
def world() -> World:
    return World(ledger=Sharded())


def until(is_over: Callable[[], bool]) -> Callable[[], float]:
    """Let a run's time be over at a moment that the test knows."""
    return lambda: FINISH_SECONDS if is_over() else FINISH_SECONDS + 100


def has_sent(world: World, count: int) -> Callable[[], bool]:
    return lambda: world.telemetry.metrics["TasksRequeued"] >= count


def test_run_that_is_cut_off_goes_on_where_it_stopped(world: World) -> None:
    """R29: every row is sent once, over three short runs."""
    assert isinstance(world.ledger, Sharded)
    for number in range(ROWS):
        world.park(f"d{number}")
    sent, cursors = [], []

    for number in range(1, 4):
        world.sweep().run("due", until(has_sent(world, number * ROUND_ROWS)))
        sent.append(world.telemetry.metrics["TasksRequeued"])
        cursors.append(world.cursors.read("due"))

    assert sent == [ROUND_ROWS, 2 * ROUND_ROWS, ROWS]
    assert 0 < int(cursors[0]) < int(cursors[1]) == int(cursors[2])
    assert world.ledger.begun == [START, cursors[0], cursors[1]]
    world.run("due")
    assert world.telemetry.metrics["TasksRequeued"] == ROWS


def test_only_what_is_due_is_listed(world: World) -> None:
    """R29: a million rows that wait for their time cost nothing."""
    assert isinstance(world.ledger, Sharded)
    world.park("a", in_ms=1)

    world.run("due")

    assert world.ledger.yielded == []


@pytest.mark.parametrize(("last", "rounds"), [(0.5, 1), (0.0, 0)])
def test_round_is_begun_while_there_is_time(world: World, last: float, rounds: int) -> None:
    """R29: and the next run begins with the first row of the round that was not."""
    assert isinstance(world.ledger, Sharded)
    for number in range(5):
        world.park(f"d{number}")
    time = iter([0.5] * 5)

    found = Walk(world.ledger, world.cursors).rounds(
        "job", Group.PARKED, due_ms=world.clock(), seconds_left=lambda: next(time, last)
    )

    assert [len(rows) for rows in found] == [5] * rounds
    listed = world.ledger.yielded
    assert len({one.cursor for one in listed}) > 1
    assert world.cursors.read("job") == (START if rounds else listed[0].cursor)


def test_run_without_time_does_nothing(world: World) -> None:
    """R29: it leaves everything to the next one."""
    parked = world.park("a")

    world.sweep().run("due", lambda: FINISH_SECONDS)

    assert world.row(parked) == parked


def test_rows_that_are_held_back_do_not_use_up_the_run(world: World) -> None:
    """R29: the time is looked at for each of them; the next run goes on there."""
    assert isinstance(world.ledger, Sharded)
    for number in range(ROWS):
        world.park(f"d{number}")
    world.switch(Part.INDEX, Circuit.OPEN)
    listed = world.ledger.yielded

    world.sweep().run("due", until(lambda: len(listed) >= 60))

    assert len(listed) == 60
    assert world.cursors.read("due") == listed[-1].cursor != START
