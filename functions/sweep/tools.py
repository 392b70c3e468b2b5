"""What the jobs that send have in common."""

from dataclasses import dataclass

from functions.core.ports import Clock, Telemetry
from functions.sweep.canary import Canary
from functions.sweep.dispatch import Dispatch
from functions.sweep.guards import Guards
from functions.sweep.ports import SecondsLeft
from functions.sweep.requeue import Requeue
from functions.sweep.walk import Walk


@dataclass(frozen=True)
class Tools:
    """A walk through the ledger, and a guarded way to the lanes."""

    walk: Walk
    guards: Guards
    requeue: Requeue
    canary: Canary
    telemetry: Telemetry
    clock: Clock

    def dispatch(self, seconds_left: SecondsLeft) -> Dispatch:
        """Start to send, for one run of one job."""
        return Dispatch(self.requeue, self.canary, self.guards, seconds_left)
