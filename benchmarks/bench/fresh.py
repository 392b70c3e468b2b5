"""How fresh live writes are: at a steady rate, and while the bulk lane is full."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.backfill.live import LiveWrites
from benchmarks.bench.row import Row
from benchmarks.bench.site import Site
from benchmarks.bench.speed import REFRESH_SECONDS
from benchmarks.load import percentile
from functions.core.lane import Lane

WRITES_PER_SECOND = 10.0
MOST_SHARE = 1.5


@dataclass(frozen=True)
class Fresh:
    """Seconds from a live write until it is completed, with and without bulk."""

    alone: Sequence[float]
    beside_bulk: Sequence[float]
    bulk_lasted: bool  # bulk was still full when the last live document was written


def measure(site: Site, *, seconds: float, bulk_documents: int) -> Fresh:
    """Write at a steady rate, first alone, then beside a load."""
    alone = _live(site, "alone", seconds)
    names = [f"beside-{number}" for number in range(bulk_documents)]
    site.queue_up(names, Lane.BULK)
    site.switch(site.lane(Lane.BULK).mapping_id, enabled=True)
    beside = _live(site, "live", seconds)
    site.new_completions()
    lasted = any(name not in site.completed for name in names)
    site.until_completed(names)
    return Fresh(alone, beside, lasted)


def _live(site: Site, prefix: str, seconds: float) -> list[float]:
    writes = LiveWrites(site.deployment, WRITES_PER_SECOND)
    end = time.monotonic() + seconds
    writes.go_on_while(lambda: time.monotonic() < end, prefix)
    site.until_completed(writes.written_ms)
    return [
        (site.completed[name]["ended_ms"] - written) / 1000
        for name, written in writes.written_ms.items()
    ]


def rows(site: Site, fresh: Fresh, request_seconds: float) -> list[Row]:
    """Compare with what must be waited for, and with itself without bulk."""
    [stream] = site.stack.spec.stream_mappings
    must = stream.window_seconds + REFRESH_SECONDS + request_seconds
    p50, p95 = percentile(fresh.alone, 50), percentile(fresh.alone, 95)
    beside = percentile(fresh.beside_bulk, 95)
    why = (
        f"stream window {stream.window_seconds} s + refresh {REFRESH_SECONDS:.0f} s"
        f" + provider {request_seconds:.2f} s"
    )
    lasted = "" if fresh.bulk_lasted else "; bulk ended before"
    return [
        Row(
            f"freshness p50 at {WRITES_PER_SECOND:.0f} writes/s",
            p50 / must,
            "x",
            why,
            note=f"{p50:.2f} s",
        ),
        Row(
            f"freshness p95 at {WRITES_PER_SECOND:.0f} writes/s",
            p95 / must,
            "x",
            why,
            limit=MOST_SHARE,
            note=f"{p95:.2f} s",
        ),
        Row(
            "freshness p95 of live writes while bulk is full",
            beside / p95,
            "x",
            f"without bulk: {p95:.2f} s",
            limit=MOST_SHARE,
            note=f"{beside:.2f} s{lasted}",
        ),
    ]
