"""The sweep put together from its parts: which jobs an event runs, and in which order."""

from collections.abc import Mapping, Sequence

from functions.core.announcement import Announcements
from functions.core.ledger_row import Group
from functions.core.ports import (
    Announcer,
    Clock,
    ControlStore,
    EntryRemoval,
    Ledger,
    TaskQueue,
    Telemetry,
)
from functions.core.settings import SourceSettings, TargetSettings, deployed_pairs
from functions.sweep.budgets import Budgets
from functions.sweep.census import Census
from functions.sweep.gate import Gate
from functions.sweep.holds import budget_rule, due_rule, healing_rule
from functions.sweep.jobs import SendDue, Stuck, Tools
from functions.sweep.ports import ChangeTaker, Cursors, FailedChanges, IndexAdmin, Wait
from functions.sweep.process import Sweep
from functions.sweep.purge import Purge
from functions.sweep.readable import ReadableLedger
from functions.sweep.replay import Replay
from functions.sweep.requeue import Requeue
from functions.sweep.walk import Walk
from functions.sweep.watch import WatchIndexes


def build_sweep(
    *,
    ledger: Ledger,
    queue: TaskQueue,
    indexes: Mapping[str, EntryRemoval],
    admin: IndexAdmin,
    control: ControlStore,
    announcer: Announcer,
    cursors: Cursors,
    failed_changes: FailedChanges,
    enqueue: ChangeTaker,
    telemetry: Telemetry,
    clock: Clock,
    wait: Wait,
    sources: Sequence[SourceSettings],
    targets: Sequence[TargetSettings],
    stuck_hours: float,
    stage: str,
) -> Sweep:
    """Put the step together."""
    ledger = ReadableLedger(ledger, telemetry)
    deployed = deployed_pairs(sources)
    tools = Tools(
        walk=Walk(ledger, cursors),
        gate=Gate(control, queue, telemetry, clock, deployed, {one.name: one for one in targets}),
        requeue=Requeue(ledger, queue, telemetry, clock),
        wait=wait,
        telemetry=telemetry,
        clock=clock,
    )
    announcements = Announcements(announcer, telemetry, clock, stage)
    over_budget = SendDue(tools, "over_budget", Group.OVER_BUDGET, budget_rule, is_bounded=True)
    retry = {one.name: one.retry for one in targets}
    maintenance = (
        Replay(failed_changes, enqueue, telemetry),
        Stuck(tools, announcements, retry, stuck_hours),
        SendDue(tools, "healing", Group.HEALING, healing_rule, lambda lane: lane.heals_in),
        # Each minute, while a budget has room; here also for a target that has none any more.
        over_budget,
        Purge(tools, indexes),
        Census(ledger, telemetry, clock, stuck_hours, deployed),
    )
    # Parked rows, and requeues that were never confirmed.
    due = SendDue(tools, "due", Group.PARKED, due_rule)
    watch = WatchIndexes(admin, control, telemetry, {one.name: one.index for one in targets})
    with_budget = [one for one in targets if one.budget and one.budget.limits_target]
    budgets = [Budgets(control, telemetry, clock, with_budget, over_budget)] if with_budget else []
    return Sweep({"due": (watch, due, *budgets), "maintenance": maintenance}, telemetry, clock)
