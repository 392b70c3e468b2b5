"""Fault by fault: how long until the alarm is on, and how long until it is off again."""

from dataclasses import dataclass

from benchmarks.alarms.faults import FAULTS, Fault
from benchmarks.alarms.world import World
from local.specs import StackSpec
from local.watch.alarms import Composite

# Long enough that what needs an hour of data has it.
CALM_MINUTES = 70
DOWN = "EmbeddingDown"


class UnprovenError(AssertionError):
    """An alarm did not do what its fault asked for."""


@dataclass(frozen=True)
class Proven:
    """An alarm that was seen on and off."""

    alarm: str
    fault: Fault
    minutes_on: int  # from the fault to ALARM
    minutes_off: int  # from its removal to OK
    also: tuple[str, ...]  # alarms that were on with it


def short_name(spec: StackSpec, alarm: str) -> str:
    """Name an alarm as the faults do: without the stack and the place."""
    if any(one.name == alarm and isinstance(one, Composite) for one in spec.alarms):
        return DOWN  # the only one
    words = alarm.removeprefix(f"{spec.name}-alarms-").split("-")
    return "".join(word.capitalize() for word in words)


def prove(spec: StackSpec, name: str) -> tuple[Proven, World]:
    """Bring a fault about, wait for its alarm, take it away, wait for the end."""
    fault = FAULTS[name]
    world = World(spec, budget_tokens=fault.budget_tokens)
    for _ in range(CALM_MINUTES):
        world.minute()
    calm = on(world)
    if name in calm:
        raise UnprovenError(f"{name} is on without its fault")
    fault.begin(world)
    minutes_on = _wait(world, name, fault.limit_minutes, is_on=True)
    also = tuple(one for one in on(world) if one != name and one not in calm)
    fault.end(world)
    minutes_off = _wait(world, name, fault.limit_minutes, is_on=False)
    return Proven(name, fault, minutes_on, minutes_off, also), world


def on(world: World) -> list[str]:
    """Name the alarms that are on, as the faults do."""
    return sorted(short_name(world.spec, one) for one in world.alarms())


def _wait(world: World, name: str, most: int, *, is_on: bool) -> int:
    for minute in range(1, most + 1):
        world.minute()
        if (name in on(world)) is is_on:
            return minute
    raise UnprovenError(f"{name} is not {'on' if is_on else 'off'} after {most} minutes")


def row(one: Proven) -> str:
    """Return the line of one alarm."""
    fed = " (fed)" if one.fault.is_fed else ""
    times = f"{one.minutes_on} min | {one.minutes_off} min"
    return f"| {one.alarm} | {one.fault.says}{fed} | {times} |"
