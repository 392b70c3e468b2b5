"""A provider that is down for long: the queue keeps everything, and no receive is burnt."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.storm.backlog import Backlog, Say, StoryResult, violated
from benchmarks.storm.settle import look
from benchmarks.storm.tempo import BREAKER as STORM_BREAKER
from benchmarks.storm.tempo import Tempo, hurried
from benchmarks.storm.world import World, storm_world
from functions.core.breaker import Circuit
from functions.core.failure import Part
from local.provider.faults import Fault, FaultKind

DOCUMENTS = 300
# An hour, and everything else of the breaker, forty times as fast.
FASTER = 40
OUTAGE_SECONDS = 3600 / FASTER
PROBES = [seconds / FASTER for seconds in (30, 60, 120, 300)]
BREAKER: Mapping[str, Any] = {**STORM_BREAKER, "probe_after_seconds": PROBES}
TEMPO = Tempo(embed_seconds=20, breaker_seconds=2, due_seconds=2, breaker=BREAKER)
OPENING_SECONDS = 120.0
DRAIN_SECONDS = 600.0
WORKED_WITHOUT_PROVIDER = "delete"


def outage(folder: Path, *, say: Say) -> StoryResult:
    """Let the provider fail for a shortened hour while a backlog waits."""
    with storm_world(folder, change=lambda spec: hurried(spec, TEMPO), log=say) as world:
        backlog = Backlog(world, DOCUMENTS, say)
        world.provider.break_with(Fault(FaultKind.SERVER_ERROR, status=503))
        began = time.monotonic()
        backlog.write()
        opening = backlog.wait(lambda: _is_paused(world), "opening", limit_seconds=OPENING_SECONDS)
        received, asked = _received(world), world.provider.sales().requests
        say(f"the breaker is open and the lanes rest after {opening:.0f} s")
        until = began + OUTAGE_SECONDS
        backlog.wait(lambda: time.monotonic() > until, "down", limit_seconds=2 * OUTAGE_SECONDS)
        burnt = _received(world) - received
        probes = world.provider.sales().requests - asked
        is_open = look(world).breakers[Part.PROVIDER] is Circuit.OPEN
        world.provider.heal()
        drained = backlog.wait(backlog.is_completed, "draining", limit_seconds=DRAIN_SECONDS)
        rows = backlog.rows()
    receives = max(row.progress.receive_count for row in rows)
    return StoryResult(
        lines=[
            f"{DOCUMENTS} documents, and a provider that is down for {OUTAGE_SECONDS:.0f} s"
            f" (an hour, {FASTER} times as fast):",
            f"  opened      {opening:.0f} s after the first write",
            f"  received    {burnt} messages while the breaker was open; {probes} requests"
            " probed the provider",
            f"  completed   all {len(rows)}, {drained:.0f} s after it was back",
            f"  receives    {receives} of one message at most",
        ],
        violations=violated(
            messages_were_received_while_the_breaker_was_open=burnt > 0,
            the_breaker_closed_too_early=not is_open,
        ),
    )


def _is_paused(world: World) -> bool:
    """Tell whether the breaker is open and every lane that needs the provider rests."""
    if look(world).breakers[Part.PROVIDER] is not Circuit.OPEN:
        return False
    return all(world.stack.runner.state(mapping) == "Disabled" for mapping in _lanes(world))


def _received(world: World) -> int:
    """Count what the lanes have delivered so far."""
    counts = world.stack.runner.statistics()
    return sum(counts[mapping].messages for mapping in _lanes(world))


def _lanes(world: World) -> list[str]:
    return [
        spec.mapping_id
        for spec in world.stack.spec.queue_mappings
        if not spec.queue.endswith(f"-{WORKED_WITHOUT_PROVIDER}")
    ]
