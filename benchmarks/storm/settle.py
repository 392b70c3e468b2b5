"""What is still under way, and waiting until nothing is.

A slow machine is told from a delay by what the workers do: they work, or they wait.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.storm.world import World
from functions.core.breaker import Circuit
from functions.core.failure import Part
from functions.core.ledger_row import Group

LOOK_SECONDS = 2.0
SAY_SECONDS = 10.0
# Lanes and index are read one after the other: only a state that lasts is believed.
QUIET_LOOKS = 3
OPEN_GROUPS = (Group.OPEN, Group.PARKED, Group.OVER_BUDGET, Group.HEALING)


class NotSettledError(Exception):
    """Work is still under way after the time that it was given."""


@dataclass(frozen=True)
class State:
    """One look at the ledger, the lanes and the breakers."""

    rows: Counter[Group]
    waiting: dict[str, int]
    hidden: dict[str, int]
    dead: int
    breakers: dict[Part, Circuit]
    failed_changes: int

    @property
    def left(self) -> int:
        """Count what is under way: open rows, messages and changes."""
        rows = sum(self.rows[group] for group in OPEN_GROUPS)
        messages = sum(self.waiting.values()) + sum(self.hidden.values())
        return rows + messages + self.failed_changes

    def __str__(self) -> str:
        """Write it for people, in one line."""
        rows = " ".join(f"{group} {self.rows[group]}" for group in (*OPEN_GROUPS, Group.FAILED))
        lanes = " ".join(
            f"{lane} {count}+{self.hidden[lane]}" for lane, count in self.waiting.items()
        )
        breakers = " ".join(f"{part} {state}" for part, state in self.breakers.items())
        return f"rows: {rows} | lanes: {lanes} dead {self.dead} | breakers: {breakers}"


def look(world: World) -> State:
    """See what is under way."""
    deployment, target = world.deployment, world.target.name
    depths = {lane: deployment.depth(url) for lane, url in deployment.queues[target].items()}
    control = deployment.control.read(target)
    rows: Counter[Group] = Counter()
    for group in (*OPEN_GROUPS, Group.FAILED):
        rows[group] = sum(1 for _ in deployment.ledger.listed([group]))
    return State(
        rows=rows,
        waiting={lane: depth[0] for lane, depth in depths.items()},
        hidden={lane: depth[1] for lane, depth in depths.items()},
        dead=deployment.count_dead_letters(target),
        breakers={part: control.breaker(part).state for part in Part},
        failed_changes=world.failed_changes(),
    )


def settle(world: World, *, limit_seconds: float, say: Callable[[str], None]) -> float:
    """Wait until nothing is under way any more; return for how long embed was at work.

    The limit is for a time in which nothing gets done.
    """
    began = said = looked = progressed = time.monotonic()
    quiet, least, worked_seconds = 0, None, 0.0
    while True:
        state = look(world)
        quiet = quiet + 1 if state.left == 0 else 0
        now = time.monotonic()
        if world.stack.runner.in_work("embed"):
            worked_seconds += now - looked
        looked = now
        if quiet >= QUIET_LOOKS:
            return worked_seconds
        if least is None or state.left < least:
            least, progressed = state.left, now
        if now - progressed > limit_seconds:
            raise NotSettledError(f"for {limit_seconds:.0f} s nothing got done: {state}")
        if now - said >= SAY_SECONDS:
            said = now
            say(f"settling {now - began:4.0f} s | {state}")
        time.sleep(LOOK_SECONDS)
