"""Histories by seed: played, checked, and made shorter where one fails."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.histories.checks import violations
from benchmarks.histories.shrink import shrink
from benchmarks.histories.world import Step, World, plan


@dataclass
class Result:
    """What many histories have shown."""

    histories: int = 0
    steps: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    failed: dict[int, list[str]] = field(default_factory=dict)  # by seed


def play(steps: Sequence[Step]) -> tuple[World, list[str]]:
    """Take the steps in a new world, let it settle, and check it."""
    world = World()
    for step in steps:
        world.take(step)
    try:
        world.settle()
    except RuntimeError as error:
        return world, [str(error)]
    return world, violations(world)


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


def shrink_seed(seed: int) -> list[Step]:
    """Return a shorter history of a failing seed that still fails."""
    return shrink(plan(seed), lambda steps: bool(play(steps)[1]))
