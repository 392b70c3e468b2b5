"""Histories by seed: played, checked, and made shorter where one fails."""

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

from benchmarks.histories.checks import violations
from benchmarks.histories.plan import History, plan
from benchmarks.histories.shrink import shrink
from benchmarks.histories.world import World

SEEDS_PER_PART = 100


@dataclass
class Result:
    """What many histories have shown."""

    histories: int = 0
    steps: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    failed: dict[int, list[str]] = field(default_factory=dict)  # by seed

    def add(self, part: "Result") -> None:
        """Take what other histories have shown."""
        self.histories += part.histories
        self.steps += part.steps
        self.faults += part.faults
        self.failed |= part.failed


def play(history: History) -> tuple[World, list[str]]:
    """Take the steps in a new world, let it settle, and check it; then once more, without index."""
    world = World(history.rates)
    for step in history.steps:
        world.take(step)
    try:
        world.settle()
        found = violations(world)
        if not found:
            world.lose_index()
            world.settle()
            found = [f"after the index was lost: {one}" for one in violations(world)]
    except RuntimeError as error:
        return world, [str(error)]
    return world, found


def play_seeds(seeds: Iterable[int], *, first_failure_ends: bool = False) -> Result:
    """Play the history of each seed."""
    result = Result()
    for seed in seeds:
        world, found = play(plan(seed))
        result.histories += 1
        result.steps += world.steps
        result.faults += world.faults
        if found:
            result.failed[seed] = found
            if first_failure_ends:
                break
    return result


def play_side_by_side(first: int, seeds: int) -> Iterator[Result]:
    """Play the histories of many seeds, on all cores; yield the result of each part."""
    starts = range(first, first + seeds, SEEDS_PER_PART)
    parts = [range(start, min(start + SEEDS_PER_PART, first + seeds)) for start in starts]
    with ProcessPoolExecutor() as pool:
        yield from pool.map(play_seeds, parts)


def shrink_seed(seed: int) -> History:
    """Return a shorter history of a failing seed that still fails."""
    history = plan(seed)
    steps = shrink(history.steps, lambda steps: bool(play(replace(history, steps=steps))[1]))
    return replace(history, steps=steps)
