"""Fills a table, lets the stream be read, backfills beside live writes, and compares."""

import argparse
import threading
import time
from pathlib import Path

from benchmarks.backfill.figures import Loaded
from benchmarks.backfill.live import Kills, LiveWrites, first_write
from benchmarks.backfill.table import (
    MEANWHILE,
    ended,
    fill,
    say,
    searchable,
    until_done,
    until_idle,
)
from benchmarks.load import percentile
from functions.core.backfill_job import Only
from local.stack import LocalStack
from ops.backfilling import start
from ops.demo.provider import Provider
from ops.deployment import Deployment
from ops.estimate import estimate
from ops.jobs import list_jobs
from ops.local_logs import log_lines
from ops.plan.answers import Checked, Plan
from ops.plan.metered import compared, load_since, summed
from ops.planning import of_stack, planned
from ops.stack import local_deployment
from ops.verification import comparison, pairs, verify


def load(stack: LocalStack, names: list[str], chosen: argparse.Namespace, folder: Path) -> Loaded:
    """Bring a table into the index that was full before any stream was read."""
    deployment = local_deployment(stack.endpoint_url)
    provider = Provider(stack.model_origin)
    fill(deployment, names)
    say(f"{len(names):,} items written; no stream was read")
    plan = _plan(deployment, chosen.writes)
    [mapping] = [one.mapping_id for one in stack.spec.stream_mappings]
    stack.runner.set_enabled(mapping, True)
    live = LiveWrites(deployment, chosen.writes)
    first_write(deployment, live)
    end = time.monotonic() + chosen.before_seconds
    live.go_on_while(lambda: time.monotonic() < end, "before")
    until_idle(deployment)
    p95_before = percentile(live.freshness_seconds("before"), 95)
    say(f"freshness without a backfill: p95 {p95_before:.2f} s")

    [pair] = pairs(deployment, None, None)
    found = estimate(comparison(deployment, pair), Only.MISSING)
    say(f"estimate: {found}")
    began = time.monotonic()
    start(deployment, pair, Only.MISSING, found, reason="benchmark")
    is_over = threading.Event()
    writer = threading.Thread(
        target=live.go_on_while, args=(lambda: not is_over.is_set(), MEANWHILE)
    )
    asked = {"backfill": chosen.kills, "embed": chosen.embed_kills}
    kills = Kills(stack, asked, is_over)
    writer.start()
    kills.start()
    try:
        until_done(deployment)
        until_idle(deployment)
        seconds = time.monotonic() - began
    finally:
        is_over.set()
        writer.join()
        kills.join()
    rows = ended(deployment, [*names, *live.written_ms])
    say(f"all sent and worked after {seconds:.0f} s")
    [job] = list_jobs(deployment).jobs
    return Loaded(
        documents=len(names),
        live=len(live.written_ms),
        seconds=seconds,
        asked_kills=asked,
        kills=kills.done,
        chunks=sum(row.indexed.chunks_total for row in rows),
        paid=provider.chunks_paid(),
        p95_before=p95_before,
        p95_meanwhile=percentile(live.freshness_seconds(MEANWHILE), 95),
        sent=job.sent,
        searchable=searchable(deployment),
        differences=sum(verify(deployment).counts.values()),
        plan=_checked(deployment, plan, folder),
    )


def _plan(deployment: Deployment, writes_per_second: float) -> Plan:
    """Plan from a sample of the table, as `embedq plan` does."""
    workload, worked, model = of_stack(
        deployment, None, None, {}, writes_per_second=writes_per_second
    )
    return planned(worked, workload, model=model)


def _checked(deployment: Deployment, plan: Plan, folder: Path) -> Checked:
    """Compare with what the functions metered, as `embedq plan --check` does."""
    lines = (one.line for one in log_lines(folder) if one.is_metrics)
    return compared(plan, summed(lines, plan.made), load_since(deployment, plan.made))
