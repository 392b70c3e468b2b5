"""Documents a second through bulk and through normal, and what a document takes on its way."""

import time
from dataclasses import dataclass

from benchmarks.bench.bare import Bare
from benchmarks.bench.row import Row
from benchmarks.bench.site import Site, per_document
from benchmarks.bench.units import SQS_CALLS, Counted
from functions.adapters.dynamodb_statements import MAX_STATEMENTS
from functions.core.lane import Lane

# OpenSearch makes what was written searchable once a second, unless an index says otherwise.
REFRESH_SECONDS = 1.0
HERE = "counted here"
# At first the engines, which are Java, take several times as long.
WARM_BULK, WARM_NORMAL = 1_000, 20


@dataclass(frozen=True)
class Ran:
    """What a load through one lane came to."""

    documents: int
    seconds: float
    each: dict[str, float]  # of one document: invocations and more
    early: int = 0  # documents that were completed, and that no search found

    @property
    def per_second(self) -> float:
        return self.documents / self.seconds


def warm_up(site: Site) -> None:
    """Let every process start, load and fill its caches before anything is measured."""
    for lane, number in ((Lane.BULK, WARM_BULK), (Lane.NORMAL, WARM_NORMAL)):
        names = [f"warm-{lane}-{one}" for one in range(number)]
        site.write(names, lane)
        site.until_completed(names)


def bulk(site: Site, documents: int) -> Ran:
    """Write documents for the bulk lane; count from the first write to the last completion."""
    names = [f"bulk-{number}" for number in range(documents)]
    before, began = site.meters(), time.monotonic()
    site.write(names, Lane.BULK)
    site.until_completed(names)
    seconds = time.monotonic() - began
    site.until_idle(Lane.BULK)
    return Ran(documents, seconds, per_document(before, site.meters(), documents))


def normal(site: Site, documents: int) -> Ran:
    """Let a backlog wait in the normal lane, then let it go."""
    names = [f"normal-{number}" for number in range(documents)]
    mapping = site.lane(Lane.NORMAL).mapping_id
    early = 0

    def look(new: list[str]) -> None:
        nonlocal early
        early += len(new) - site.found_by_search(new)

    before = site.meters()
    site.queue_up(names, Lane.NORMAL)
    began = time.monotonic()
    site.switch(mapping, enabled=True)
    site.until_completed(names, look)
    seconds = time.monotonic() - began
    site.until_idle(Lane.NORMAL)
    return Ran(documents, seconds, per_document(before, site.meters(), documents), early)


def rows(site: Site, loaded: Ran, backlog: Ran, bare: Bare) -> list[Row]:
    """Compare with the bare loop, and with what the refresh interval allows."""
    workers = site.lane(Lane.NORMAL).max_concurrency or 0
    most = Lane.NORMAL.traits.batch_size * workers / REFRESH_SECONDS
    return [
        Row(
            "documents/s, bulk lane, whole pipeline",
            loaded.per_second / bare.writing_per_second,
            "x",
            f"bare loop with two conditional writes a document: {bare.writing_per_second:.0f}/s",
            limit=0.7,
            at_least=True,
            note=f"{loaded.per_second:.1f}/s",
        ),
        Row(
            "the same, against a loop without these writes",
            loaded.per_second / bare.loop_per_second,
            "x",
            f"bare loop: {bare.loop_per_second:.0f}/s",
        ),
        Row(
            f"documents/s, normal lane, backlog of {backlog.documents:,}",
            backlog.per_second / most,
            "x",
            f"10 x {workers} workers / {REFRESH_SECONDS:.0f} s refresh: {most:.0f}/s",
            limit=0.9,
            at_least=True,
            note=f"{backlog.per_second:.1f}/s",
        ),
        Row(
            "live documents completed before a search finds them", backlog.early, "", HERE, limit=0
        ),
        _pair("invocations per document, live backlog", backlog, "invocations", 0.12),
        _pair("invocations per document, bulk", loaded, "invocations", 0.016),
        _pair("GB-seconds per 1,000 documents, live backlog", backlog, "GB-seconds", scale=1000),
        _pair("GB-seconds per 1,000 documents, bulk", loaded, "GB-seconds", scale=1000),
        _pair("log bytes per document, live backlog", backlog, "log bytes"),
        _pair("log bytes per document, bulk", loaded, "log bytes"),
        _cpu(
            "embed",
            loaded,
            bare.embed_ms,
            f"{bare.embed_together_ms:.2f} ms with {MAX_STATEMENTS} writes a request",
        ),
        _cpu("enqueue", loaded, bare.enqueue_ms, ""),
    ]


def _pair(question: str, ran: Ran, name: str, limit: float | None = None, scale: int = 1) -> Row:
    return Row(question, scale * ran.each[name], "", HERE, limit=limit)


def _cpu(folder: str, ran: Ran, bare_ms: float, beside: str) -> Row:
    own = ran.each[f"{folder} CPU ms"]
    calls = {
        "embed": "2 writes one by one, 2 reads in batches, bulk body",
        "enqueue": "1 write, a tenth of a send",
    }
    return Row(
        f"CPU per document: {folder}, bulk",
        own / bare_ms,
        "x",
        f"bare boto3 calls ({calls[folder]}): {bare_ms:.2f} ms" + (f"; {beside}" if beside else ""),
        limit=2,
        note=f"{own:.2f} ms",
    )


def requests(counted: Counted, ran: Ran, lane: str) -> Row:
    """Add what the functions ask SQS for to what the poller does; polls of an empty lane are apart.

    These depend on time and not on documents.
    """
    own, poller = counted.each(*SQS_CALLS), ran.each["poller calls"]
    return Row(
        f"SQS requests per document, {lane}",
        own + poller,
        "",
        "counted at the SDK of functions and poller",
        limit=0.45,
        note=f"functions {own:.2f}, poller {poller:.2f}",
    )
