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
from functions.core.settings import SourceSettings, TargetSettings
from functions.embed.finish import Finish
from functions.embed.guard.guard import Guard
from functions.embed.guard.guarded import GuardedEmbedder, GuardedIndex
from functions.embed.payment import Payment
from functions.embed.probe import probe
from functions.embed.process import Embed
from functions.embed.receive import Receive


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
    stage: str = "",
) -> Embed:
    """Put the step together from its dependencies."""
    guard = Guard(target, control, telemetry, clock, wait, jitter)
    guarded = GuardedIndex(index, guard)
    announcements = Announcements(announcer, telemetry, clock, stage)
    finish = Finish(
        ledger=ledger,
        queue=queue,
        announcements=announcements,
        telemetry=telemetry,
        clock=clock,
        jitter=jitter,
        retry=target.retry,
        model=target.model,
        index_uuid=lambda: guard.index_uuid,
        is_failing=lambda: guard.tally.is_failing,
    )
    receive = Receive(
        ledger=ledger,
        announcements=announcements,
        telemetry=telemetry,
        clock=clock,
        jitter=jitter,
        retry=target.retry,
        target=target.name,
        sources=frozenset(one.name for one in sources),
    )
    payment = Payment(
        embedder=GuardedEmbedder(embedder, guard),
        index=guarded,
        stash=stash,
        telemetry=telemetry,
        target=target,
        is_failing=lambda: guard.tally.is_failing,
        misconfigured=lambda failure: guard.failed(Part.PROVIDER, failure),
        excuse=lambda requests: guard.tally.excuse(Part.PROVIDER, requests),
    )
    return Embed(
        source=source,
        ledger=ledger,
        queue=queue,
        index=guarded,
        guard=guard,
        payment=payment,
        receive=receive,
        finish=finish,
        telemetry=telemetry,
        clock=clock,
        jitter=jitter,
        sources={one.name: one for one in sources},
        target=target,
        probe=partial(probe, embedder=embedder, index=index, clock=clock),
    )
