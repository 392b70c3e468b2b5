"""A provider that answers 429 for two minutes: all workers wait, and no attempt is spent."""

import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.storm.backlog import Backlog, Say, StoryResult, violated
from benchmarks.storm.tempo import with_target
from benchmarks.storm.world import storm_world
from local.provider.faults import Fault, FaultKind, RetryAfter
from local.provider.server import ModelServer

DOCUMENTS = 300
THROTTLED_SECONDS = 120.0
FEWER_REQUESTS_THAN = 60
TOKENS_PER_MINUTE = 10_000
TOKENS_PER_REQUEST = 2_000
MOST_TIMES_THE_ALLOWED = 2.0


def throttled(folder: Path, *, say: Say) -> StoryResult:
    """Throttle, then take what the limit allows. Everything else is as deployed."""
    with ExitStack() as running:
        server = running.enter_context(ModelServer("hashed", tokens_per_minute=TOKENS_PER_MINUTE))
        world = running.enter_context(
            storm_world(
                folder,
                change=lambda spec: with_target(
                    spec, base_url=server.url, tokens_per_request=TOKENS_PER_REQUEST
                ),
                log=say,
                model_origin=server.origin,
            )
        )
        backlog = Backlog(world, DOCUMENTS, say)
        # Without a header that says when to come again: the hardest case.
        world.provider.break_with(Fault(FaultKind.RATE_LIMITED, retry_after=RetryAfter.NONE))
        backlog.write()
        until = time.monotonic() + THROTTLED_SECONDS
        backlog.wait(
            lambda: time.monotonic() > until, "throttled", limit_seconds=2 * THROTTLED_SECONDS
        )
        meanwhile = world.provider.sales().requests
        world.provider.heal()
        say(f"from now on the provider takes {TOKENS_PER_MINUTE:,} tokens a minute")
        tokens = backlog.tokens
        # Its bucket is full when it begins to take something.
        allowed = (tokens - TOKENS_PER_MINUTE) * 60 / TOKENS_PER_MINUTE
        limit = MOST_TIMES_THE_ALLOWED * allowed
        drained = backlog.wait(backlog.is_completed, "draining", limit_seconds=2 * limit)
        rows = backlog.rows()
        statuses = world.provider.sales().statuses
    spent = sum(row.progress.attempts - 1 for row in rows)
    failed = sum(row.status.is_failed or bool(row.progress.heals) for row in rows)
    return StoryResult(
        lines=[
            f"{DOCUMENTS} documents, and 429 for {THROTTLED_SECONDS:.0f} s:",
            f"  failed      {failed}",
            f"  attempts    {spent} spent beyond the one that passed",
            f"  requests    {meanwhile} meanwhile; in all {statuses}",
            f"  drained     in {drained:.0f} s after it, {drained / allowed:.2f} x of the"
            f" {allowed:.0f} s that {tokens:,} tokens take at the provider's rate",
        ],
        violations=violated(
            documents_failed=failed > 0,
            attempts_were_spent=spent > 0,
            too_many_requests=meanwhile >= FEWER_REQUESTS_THAN,
            drained_too_slowly=drained > limit,
        ),
    )
