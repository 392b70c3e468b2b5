"""Seed -> what goes wrong and when: provider faults, index outages, killed processes. Pure."""

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import cycle
from random import Random

from local.provider.faults import Fault, FaultKind, RetryAfter

# Each comes with another share of the requests; a seed of its own makes the share's choice.
PROVIDER_FAULTS = (
    Fault(FaultKind.RATE_LIMITED, seconds=2),
    Fault(FaultKind.RATE_LIMITED, retry_after=RetryAfter.NONE),
    Fault(FaultKind.RATE_LIMITED, seconds=3, retry_after=RetryAfter.DATE),
    Fault(FaultKind.SERVER_ERROR, status=500),
    Fault(FaultKind.SERVER_ERROR, status=503),
    Fault(FaultKind.HANG),
    Fault(FaultKind.RESET),
    Fault(FaultKind.MALFORMED_JSON),
    Fault(FaultKind.HTML, status=502),
    Fault(FaultKind.FEWER_VECTORS),
    Fault(FaultKind.WRONG_INDEX),
    Fault(FaultKind.NAN),
    Fault(FaultKind.WRONG_DIMENSIONS),
)
SHARES = (0.3, 0.6, 1.0)
FAULT_SECONDS = (3.0, 8.0)
CALM_SECONDS = (3.0, 8.0)
OUTAGE_SECONDS = (4.0, 10.0)
# Mean time between two outages of the index.
OUTAGE_EVERY_SECONDS = 60.0
# Which function a kill is meant for, by weight.
VICTIMS = {"embed": 80, "enqueue": 10, "sweep": 7, "breaker": 3}


class Outage(StrEnum):
    """How the index goes away."""

    REFUSED = "refused"  # nobody listens
    CUT = "cut"  # connections are reset as soon as they are there
    SILENT = "silent"  # connections are taken, and nothing comes back
    STOPPED = "stopped"  # the engine's process itself is stopped by a signal


@dataclass(frozen=True)
class FaultWindow:
    """A fault of the provider that is in force for a while."""

    at_seconds: float
    seconds: float
    fault: Fault


@dataclass(frozen=True)
class OutageWindow:
    """The index is away for a while."""

    at_seconds: float
    seconds: float
    outage: Outage


@dataclass(frozen=True)
class Kill:
    """SIGKILL for a process of this function that works."""

    at_seconds: float
    folder: str


def plan_faults(chance: Random, *, seconds: float) -> tuple[FaultWindow, ...]:
    """Plan one fault after another with calm in between; every kind before any comes again."""
    planned = []
    kinds = cycle(chance.sample(PROVIDER_FAULTS, len(PROVIDER_FAULTS)))
    at = chance.uniform(*CALM_SECONDS)
    while at < seconds:
        fault = replace(next(kinds), share=chance.choice(SHARES), seed=chance.randrange(2**31))
        length = chance.uniform(*FAULT_SECONDS)
        planned.append(FaultWindow(at, length, fault))
        at += length + chance.uniform(*CALM_SECONDS)
    return tuple(planned)


def plan_outages(chance: Random, *, seconds: float) -> tuple[OutageWindow, ...]:
    """Plan at least one outage of the index; none reaches into the next."""
    kinds = cycle(chance.sample(list(Outage), len(Outage)))
    count = max(1, round(seconds / OUTAGE_EVERY_SECONDS))
    part = seconds / count
    return tuple(
        OutageWindow(
            number * part + chance.uniform(0.1, 0.6) * part,
            min(chance.uniform(*OUTAGE_SECONDS), 0.3 * part),
            next(kinds),
        )
        for number in range(count)
    )


def plan_kills(chance: Random, *, count: int, seconds: float) -> tuple[Kill, ...]:
    """Plan so many kills, in the order of their times."""
    times = sorted(chance.uniform(0, seconds) for _ in range(count))
    folders = chance.choices(list(VICTIMS), list(VICTIMS.values()), k=count)
    return tuple(Kill(at, folder) for at, folder in zip(times, folders, strict=True))
