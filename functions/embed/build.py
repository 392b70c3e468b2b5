"""The step of embed put together from its parts."""

from collections.abc import Callable, Sequence
from functools import partial

from functions.core.announcement import Announcements
from functions.core.failure import Part
from functions.core.ports import (
    Announcer,
    Clock,
    ControlStore,
    Embedder,
    Ledger,
    Source,
    Stash,
    TaskQueue,
    Telemetry,
    VectorIndex,
)
from functions.core.settings import RetentionSettings, SourceSettings, TargetSettings
from functions.embed.finish import Finish
from functions.embed.guard.guard import Guard
from functions.embed.guard.guarded import GuardedEmbedder, GuardedIndex
from functions.embed.guard.tenants import Tenants
from functions.embed.payment import Payment
from functions.embed.probe import probe
from functions.embed.process import Embed
from functions.embed.receive import Receive
from functions.embed.tools import Tools


def build_embed(
    *,
    source: Source,
    ledger: Ledger,
    queue: TaskQueue,
    embedder: Embedder,
    index: VectorIndex,
    stash: Stash,
    control: ControlStore,
    announcer: Announcer,
    telemetry: Telemetry,
    clock: Clock,
    wait: Callable[[float], None],
    jitter: Callable[[], float],
    sources: Sequence[SourceSettings],
    target: TargetSettings,
    completed_row_days: int = RetentionSettings().completed_rows,
    stage: str = "",
    reused: Sequence[VectorIndex] = (),
) -> Embed:
    """Put the step together from its dependencies; `reused` are indexes with vectors to take."""
    guard = Guard(target, control, telemetry, clock, wait, jitter)
    guarded = GuardedIndex(index, guard)
    announcements = Announcements(announcer, telemetry, clock, stage)
    tools = Tools(target, ledger, queue, announcements, telemetry, clock, jitter)
    payment = Payment(
        embedder=GuardedEmbedder(embedder, guard),
        index=guarded,
        reused=tuple(GuardedIndex(one, guard, may_be_missing=True) for one in reused),
        stash=stash,
        telemetry=telemetry,
        target=target,
        tenants=Tenants(target, control, telemetry, clock),
        is_failing=lambda: guard.tally.is_failing,
        misconfigured=lambda failure: guard.failed(Part.PROVIDER, failure),
        excuse=lambda requests: guard.tally.excuse(Part.PROVIDER, requests),
    )
    return Embed(
        tools=tools,
        source=source,
        index=guarded,
        guard=guard,
        payment=payment,
        receive=Receive(tools, frozenset(one.name for one in sources)),
        finish=Finish(
            tools,
            completed_row_days,
            lambda: guard.index_uuid,
            lambda: guard.tally.is_failing,
        ),
        sources={one.name: one for one in sources},
        probe=partial(probe, embedder=embedder, index=index, clock=clock),
    )
