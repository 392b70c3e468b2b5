"""The first line of the console: is the stack healthy, why not, and since when. Pure."""

from dataclasses import dataclass
from typing import Literal

from ops.health import Check, Health

State = Literal["loading", "well", "warning", "failed", "unknown"]
TITLES: dict[State, str] = {
    "loading": "Loading",
    "well": "Healthy",
    "warning": "Needs attention",
    "failed": "Not healthy",
    "unknown": "Not known",
}


@dataclass(frozen=True)
class Verdict:
    """One word for the whole stack."""

    state: State = "loading"
    since: float | None = None  # seconds since the epoch, when it was first seen so
    reasons: tuple[Check, ...] = ()
    error: str = ""  # why nothing is known

    @property
    def title(self) -> str:
        return TITLES[self.state]


def judge(before: Verdict, health: Health | None, error: str, *, now: float) -> Verdict:
    """Judge what was found; the time stays that of the first sight of this state."""
    if health is None:
        state: State = "unknown"
        reasons: tuple[Check, ...] = ()
    else:
        reasons = tuple(one for one in health.checks if one.state != "well")
        states = {one.state for one in reasons}
        state = "failed" if "failed" in states else "warning" if states else "well"
    since = before.since if before.state == state else now
    return Verdict(state, since, reasons, error)
