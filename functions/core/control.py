"""The control item: what all workers of a target share: breakers, cooldown, budget, its index."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from functions.core.breaker import Breaker
from functions.core.budget import NOT_RAISED, NOTHING_SPENT, Raised, Spent
from functions.core.failure import FailureError, Part

if TYPE_CHECKING:
    from functions.core.ports import Telemetry

# Where a throttled answer does not say how long to wait, and as the least where it does: a
# provider that keeps saying "one second" is asked less and less often all the same.
COOLDOWN_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0)
# However long it asks for: one request in a quarter of an hour does no harm, and a wrong date in
# a header must not stop a target for good.
LONGEST_COOLDOWN_SECONDS = 900.0

NEW_BREAKER = Breaker()


@dataclass(frozen=True)
class Cooldown:
    """After a 429: when a worker may ask again, and how often it happened in a row."""

    until_ms: int = 0
    throttles: int = 0
    claimed_until_ms: int = 0  # until then one worker asks, and the others wait for its answer


@dataclass(frozen=True)
class Control:
    """Everything that the workers of a target share."""

    provider: Breaker = NEW_BREAKER
    index: Breaker = NEW_BREAKER
    cooldown: Cooldown = Cooldown()
    spent: Spent = NOTHING_SPENT
    raised: Raised = NOT_RAISED
    # Of the index behind the alias, as the sweep saw it last. What was written to another one is
    # not in this one. Empty: not seen yet.
    index_uuid: str = ""

    def breaker(self, part: Part) -> Breaker:
        return self.provider if part is Part.PROVIDER else self.index

    def with_breaker(self, part: Part, breaker: Breaker) -> "Control":
        if part is Part.PROVIDER:
            return replace(self, provider=breaker)
        return replace(self, index=breaker)


def cooldown_seconds(throttles: int, asked_seconds: float | None) -> float:
    """Return how long all workers wait after so many throttles in a row, this one not counted."""
    least = COOLDOWN_SECONDS[min(throttles, len(COOLDOWN_SECONDS) - 1)]
    return min(max(least, asked_seconds or 0.0), LONGEST_COOLDOWN_SECONDS)


def log_unreadable(telemetry: "Telemetry", target: str, error: FailureError) -> None:
    """Log and count that the item could not be read or written."""
    telemetry.count("ControlUnreadable")
    telemetry.event("control_unreadable", target=target, failure=str(error))


def lost_index(alias: str, *, known: str, found: str | None) -> str | None:
    """Say that the index behind an alias is not the one that was filled; None if it is."""
    if not known or found == known:
        return None
    if found is None:
        return (
            f"the index behind {alias} is gone: give the target another index name and deploy, "
            "then write the items again"
        )
    return (
        f"another index than before is behind {alias}: unless its entries were moved with it, "
        "write the items again"
    )
