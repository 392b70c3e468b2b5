"""Targets -> may they get work: breakers and depths, asked once per target and run."""

from collections.abc import Collection
from dataclasses import dataclass

from functions.core.control import Control
from functions.core.failure import FailureError
from functions.core.ports import Clock, ControlStore, Listed, TaskQueue, Telemetry
from functions.sweep.holds import Hold, Rule, Situation


@dataclass(frozen=True)
class Guards:
    """The boxes that a view needs."""

    control: ControlStore
    queue: TaskQueue
    telemetry: Telemetry
    clock: Clock
    targets: Collection[str]

    def view(self, rule: Rule) -> "View":
        """Look at the targets anew, for one run of one job."""
        return View(self, rule)

    def situation(self, target: str) -> Situation:
        """Tell how it stands with a target now."""
        return Situation(self._control_of(target), self.queue.waiting(target), self.clock())

    def tell(self, target: str, queue: str, hold: Hold) -> None:
        """Log why rows stay where they are."""
        self.telemetry.event("requeue_held_back", target=target, lane=queue, reason=str(hold))

    def _control_of(self, target: str) -> Control:
        try:
            return self.control.read(target)
        except FailureError as error:
            # As everywhere: what cannot be read stops nobody.
            self.telemetry.count("ControlUnreadable")
            self.telemetry.event("control_unreadable", target=target, failure=str(error))
            return Control()


class View:
    """What the guards say in one run: it does not change its mind."""

    def __init__(self, guards: Guards, rule: Rule) -> None:
        self._guards = guards
        self._rule = rule
        self._situations: dict[str, Situation] = {}
        self._told: set[tuple[str, str, Hold]] = set()

    def allows(self, listed: Listed) -> bool:
        """Tell whether a row may be sent; say once why not."""
        target = listed.row_key.split("/", 1)[0]
        hold = self._hold(target, listed)
        if hold is not None and (target, listed.lane, hold) not in self._told:
            self._told.add((target, listed.lane, hold))
            self._guards.tell(target, listed.lane, hold)
        return hold is None

    def _hold(self, target: str, listed: Listed) -> Hold | None:
        if target not in self._guards.targets:
            return Hold.UNDEPLOYED
        if target not in self._situations:
            self._situations[target] = self._guards.situation(target)
        return self._rule(self._situations[target], listed)
