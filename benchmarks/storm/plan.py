"""Seed -> the whole storm as data: the same seed and size give the same plan. Pure."""

from dataclasses import dataclass
from random import Random

from benchmarks.storm.operations import Operation, plan_operations
from benchmarks.storm.weather import (
    FaultWindow,
    Kill,
    OutageWindow,
    plan_faults,
    plan_kills,
    plan_outages,
)

# What one machine of two cores keeps up with, so that faults meet work and not a backlog only.
OPERATIONS_PER_SECOND = 10.0
KILLS_PER_SECOND = 0.5
SHORTEST_SECONDS = 30.0


@dataclass(frozen=True)
class Plan:
    """Everything that the storm does, by seconds after its start."""

    seed: int
    seconds: float
    operations: tuple[Operation, ...]
    faults: tuple[FaultWindow, ...]
    outages: tuple[OutageWindow, ...]
    kills: tuple[Kill, ...]


def make_plan(*, seed: int, operations: int, kills: int, seconds: float | None = None) -> Plan:
    """Plan a storm of this size, over these seconds or as many as this machine can bear."""
    seconds = seconds or max(
        SHORTEST_SECONDS, operations / OPERATIONS_PER_SECOND, kills / KILLS_PER_SECOND
    )

    # A source of chance for each part: another number of kills leaves the writes as they are.
    def chance(part: str) -> Random:
        return Random(f"{seed}/{part}")

    return Plan(
        seed=seed,
        seconds=seconds,
        operations=plan_operations(chance("operations"), count=operations, seconds=seconds),
        faults=plan_faults(chance("faults"), seconds=seconds),
        outages=plan_outages(chance("outages"), seconds=seconds),
        kills=plan_kills(chance("kills"), count=kills, seconds=seconds),
    )
