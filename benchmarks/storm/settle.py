"""What is still under way, and waiting until nothing is."""

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
    def is_quiet(self) -> bool:
        counts = [self.rows[group] for group in OPEN_GROUPS]
        counts += [*self.waiting.values(), *self.hidden.values(), self.failed_changes]
        return not any(counts)

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


def settle(world: World, *, limit_seconds: float, say: Callable[[str], None]) -> State:
    """Wait until nothing is under way any more; return the last look."""
    began = said = time.monotonic()
    quiet = 0
    while True:
        state = look(world)
        quiet = quiet + 1 if state.is_quiet else 0
        now = time.monotonic()
        if quiet >= QUIET_LOOKS:
            return state
        if now - began > limit_seconds:
            raise NotSettledError(f"after {limit_seconds:.0f} s there is still work: {state}")
        if now - said >= SAY_SECONDS:
            said = now
            say(f"settling {now - began:4.0f} s | {state}")
        time.sleep(LOOK_SECONDS)
