"""The sweep put together from its parts: which jobs an event runs, and in which order."""

from collections.abc import Mapping, Sequence

from functions.core.announcement import Announcements
from functions.core.ledger_row import Group
from functions.core.ports import (
    Announcer,
    Clock,
    ControlStore,
    Ledger,
    TaskQueue,
    Telemetry,
    VectorIndex,
)
from functions.core.settings import TargetSettings
from functions.sweep.census import Census
from functions.sweep.gate import Gate
from functions.sweep.holds import due_rule, healing_rule
from functions.sweep.jobs import SendDue, Stuck, Tools
from functions.sweep.ports import ChangeTaker, Cursors, FailedChanges, Wait
from functions.sweep.process import Sweep
from functions.sweep.purge import Purge
from functions.sweep.replay import Replay
from functions.sweep.requeue import Requeue
from functions.sweep.walk import Walk


def build_sweep(
    *,
    ledger: Ledger,
    queue: TaskQueue,
    indexes: Mapping[str, VectorIndex],
    control: ControlStore,
    announcer: Announcer,
    cursors: Cursors,
    failed_changes: FailedChanges,
    enqueue: ChangeTaker,
    telemetry: Telemetry,
    clock: Clock,
    wait: Wait,
    targets: Sequence[TargetSettings],
    stuck_hours: float,
    stage: str,
) -> Sweep:
    """Put the step together."""
    tools = Tools(
        walk=Walk(ledger, cursors),
        gate=Gate(control, queue, telemetry, clock, frozenset(one.name for one in targets)),
        requeue=Requeue(ledger, queue, telemetry, clock),
        wait=wait,
        telemetry=telemetry,
        clock=clock,
    )
    announcements = Announcements(announcer, telemetry, clock, stage)
    retry = {one.name: one.retry for one in targets}
    maintenance = (
        Replay(failed_changes, enqueue, telemetry),
        Stuck(tools, announcements, retry, stuck_hours),
        SendDue(tools, "healing", Group.HEALING, healing_rule, lambda lane: lane.heals_in),
        Purge(tools, indexes),
        Census(ledger, telemetry, clock, stuck_hours),
    )
    # Parked rows, and requeues that were never confirmed.
    due = SendDue(tools, "due", Group.PARKED, due_rule)
    return Sweep({"due": (due,), "maintenance": maintenance}, telemetry, clock)
