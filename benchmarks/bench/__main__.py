"""`make bench`: one row for each question about speed and cost, on the engines of this machine.

Every figure is a ratio to something measured in the same run, or a count. The table is printed,
and kept as benchmarks/results.json, results.md and results.svg. Nothing here is a test: the exit
code is 0 also where a goal is missed.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.bench import bare, cold, dollars, fresh, memory, search, speed, tokens, units
from benchmarks.bench.results import Circumstances, keep
from benchmarks.bench.row import Row
from benchmarks.bench.site import Site
from benchmarks.bench.stack import running, say
from functions.core.lane import Lane
from ops.demo.provider import Provider

# Of the backlog in the normal lane. Bulk gets twice as many: its last batch, which is not full,
# waits five seconds for more, and those are not to count as speed.
DOCUMENTS = 2_000
LIVE_SECONDS = 15.0
LEAST_VECTORS = 1_000  # so that ten documents pass a filter


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask every question; print and keep the answers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument(
        "--documents",
        type=int,
        default=DOCUMENTS,
        help="in the backlog of the normal lane; twice as many in bulk",
    )
    parser.add_argument("--live-seconds", type=float, default=LIVE_SECONDS)
    parser.add_argument("--result", default="results", help="name of the files in benchmarks/")
    chosen = parser.parse_args(arguments)
    given, began = Circumstances.now(), time.monotonic()
    say(given.line(0))
    rows = [*tokens.rows(), *_memory(chosen.documents)]
    with running() as site:
        rows = [*_on_stack(site, chosen.documents, chosen.live_seconds), *rows]
        functions = list(site.stack.spec.functions)
    say("cold starts")
    rows += cold.rows(cold.measure(functions, rounds=5))
    for line in keep(
        chosen.result, rows, given, time.monotonic() - began, documents=chosen.documents
    ):
        print(line)
    return 0


def _memory(documents: int) -> list[Row]:
    say("memory of embed's step")
    return memory.rows(tuple(one * documents // DOCUMENTS or 1 for one in memory.MESSAGES))


def _on_stack(site: Site, documents: int, live_seconds: float) -> list[Row]:
    say("warm up")
    speed.warm_up(site)
    warm = site.megabytes("embed")
    say(f"bulk lane, {2 * documents:,} documents")
    loaded = speed.bulk(site, 2 * documents)
    say("bare loop")
    plain = bare.measure(site, documents // 4)
    say(f"normal lane, backlog of {documents:,}")
    backlog = speed.normal(site, documents)
    say("freshness")
    live = fresh.measure(site, seconds=live_seconds, bulk_documents=documents)
    full = site.megabytes("embed")
    say("units and calls")
    provider = Provider(site.stack.model_origin)
    _stop_mappings(site)
    normal = units.count(site, Lane.NORMAL, max(documents // 20, 10))
    paid = provider.counts()["paid"]
    bulk = units.count(site, Lane.BULK, max(documents // 10, 10))
    after = provider.counts()["paid"]
    silent = units.count(site, Lane.NORMAL, 20, has_events=False)
    say("recall and search")
    found = search.rows(site, max(documents * 5 // 2, LEAST_VECTORS))
    each = (after["tokens"] - paid["tokens"]) / bulk.documents
    usages = {
        "live": _usage(normal, backlog, each, is_fifo=True),
        "bulk": _usage(bulk, loaded, each, is_fifo=False),
    }
    usages["bulk, no completion events"] = replace(usages["bulk"], events=0)
    return [
        *units.rows(normal, bulk, silent),
        speed.requests(normal, backlog, "live backlog"),
        speed.requests(bulk, loaded, "bulk"),
        *speed.rows(site, loaded, backlog, plain),
        *fresh.rows(site, live, plain.request_seconds),
        *found,
        Row(
            "memory of embed's largest process, after all loads",
            full / warm,
            "x",
            f"itself after the warm-up: {warm:.0f} MB",
            note=f"{full:.0f} MB",
        ),
        Row(
            "messages and records that failed on the way, and came again",
            sum(one.failures for one in site.stack.runner.statistics().values()),
            "",
            "counted here: they make a freshness of minutes",
        ),
        *dollars.rows(usages),
    ]


def _usage(
    counted: units.Counted, ran: speed.Ran, tokens_each: float, *, is_fifo: bool
) -> dollars.Usage:
    return dollars.Usage(
        write_units=counted.each("write units"),
        read_units=counted.read_units,
        sqs_calls=counted.each(*units.SQS_CALLS) + ran.each["poller calls"],
        is_fifo=is_fifo,
        invocations=ran.each["invocations"],
        gb_seconds=ran.each["GB-seconds"],
        events=counted.each("events"),
        log_bytes=ran.each["log bytes"],
        tokens=tokens_each,
    )


def _stop_mappings(site: Site) -> None:
    """Leave the lanes and the stream to the metered functions, from now on."""
    spec = site.stack.spec
    streams = [one.mapping_id for one in spec.stream_mappings]
    for mapping in [*streams, *(one.mapping_id for one in spec.queue_mappings)]:
        site.switch(mapping, enabled=False)


if __name__ == "__main__":
    sys.exit(main())
