"""Which rows may be sent in this run: breakers and depths, looked at once per target."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache

from functions.core.control import Control, log_unreadable
from functions.core.failure import FailureError
from functions.core.lane import queue_name
from functions.core.ports import Clock, ControlStore, Listed, TaskQueue, Telemetry
from functions.core.settings import TargetSettings
from functions.sweep.holds import Hold, Rule, Situation


@dataclass(frozen=True)
class Gate:
    """The dependencies of every check."""

    control: ControlStore
    queue: TaskQueue
    telemetry: Telemetry
    clock: Clock
    deployed: Collection[tuple[str, str]]  # each target with each of its sources
    targets: Mapping[str, TargetSettings]

    def check(
        self, rule: Rule, broken: dict[str, FailureError], *, is_bounded: bool = False
    ) -> Callable[[Listed], bool]:
        """Make the check of one run of one job; it logs once why rows stay where they are.

        `broken` gets the failure of each target whose queues do not answer: it stops no other.
        `is_bounded`: what was let through waits in its lane, too.
        """

        @cache
        def situation(target: str) -> Situation | None:
            try:
                return self._situation(target)
            except FailureError as error:
                broken[target] = error
                return None

        logged: set[tuple[str, str, Hold]] = set()

        def passes(listed: Listed) -> bool:
            is_known = listed.is_fed(self.deployed)
            found = situation(listed.target) if is_known else None
            if found is None:
                hold: Hold | None = Hold.UNANSWERED if is_known else Hold.UNDEPLOYED
            else:
                hold = rule(found, listed)
            if hold is not None and (listed.target, listed.lane, hold) not in logged:
                logged.add((listed.target, listed.lane, hold))
                self.log(listed.target, listed.lane, hold)
            if found is not None and hold is None and is_bounded:
                found.waiting[queue_name(listed.lane, listed.source)] += 1
            return hold is None

        return passes

    def log(self, target: str, queue: str, hold: Hold) -> None:
        """Log why rows stay where they are."""
        self.telemetry.event("requeue_held_back", target=target, lane=queue, reason=str(hold))

    def _situation(self, target: str) -> Situation:
        return Situation(
            self._control_of(target),
            Counter(self.queue.waiting(target)),
            self.clock(),
            self.targets.get(target),
        )

    def _control_of(self, target: str) -> Control:
        try:
            return self.control.read(target)
        except FailureError as error:
            # As everywhere: a control item that cannot be read stops no work.
            log_unreadable(self.telemetry, target, error)
            return Control()
