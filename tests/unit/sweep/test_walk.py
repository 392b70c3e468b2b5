"""A run that is cut off goes on where it stopped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from functions.adapters.dynamodb_ledger import OPEN_SHARDS, shard_of
from functions.core.ledger_row import Group
from functions.core.ports import Listed
from functions.sweep.process import FINISH_SECONDS
from functions.sweep.requeue import ROUND_ROWS
from local.memory.ledger import MemoryLedger
from tests.unit.sweep.world import World

ROWS = 2 * ROUND_ROWS + 50


class Sharded(MemoryLedger):
    """A ledger that lists shard by shard, and remembers where it was asked to begin."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[int] = []

    def listed(
        self, groups: Sequence[Group], *, due_ms: int | None = None, first_shard: int = 0
    ) -> Iterator[Listed]:
        self.begun.append(first_shard)
        for number in range(OPEN_SHARDS):
            shard = (first_shard + number) % OPEN_SHARDS
            for one in list(super().listed(groups, due_ms=due_ms)):
                if shard_of(one.row_key) == shard:
                    yield replace(one, shard=shard)


@pytest.fixture
def world() -> World:
    return World(ledger=Sharded())


def rounds(count: int) -> Callable[[], float]:
    """Let time run out after so many rounds."""
    # Asked twice for the job's share, once before each round, and once for the canary.
    answers = iter([FINISH_SECONDS + 100] * (2 + count + 1))
    return lambda: next(answers, FINISH_SECONDS)


def test_run_that_is_cut_off_goes_on_where_it_stopped(world: World) -> None:
    """R29: every row is sent once, over three short runs."""
    assert isinstance(world.ledger, Sharded)
    for number in range(ROWS):
        world.park(f"d{number}")
    sent, cursors = [], []

    for _ in range(3):
        world.sweep().run("due", rounds(1))
        sent.append(world.telemetry.metrics["TasksRequeued"])
        cursors.append(world.cursors.read("due"))

    assert sent == [ROUND_ROWS, 2 * ROUND_ROWS, ROWS]
    assert 0 < cursors[0] < cursors[1] == cursors[2]
    assert world.ledger.begun == [0, cursors[0], cursors[1]]
    world.run("due")
    assert world.telemetry.metrics["TasksRequeued"] == ROWS


def test_run_without_time_does_nothing(world: World) -> None:
    """R29: it leaves everything to the next one."""
    parked = world.park("a")

    world.sweep().run("due", lambda: FINISH_SECONDS)

    assert world.row(parked) == parked
