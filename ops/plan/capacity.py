"""How fast each part lets documents through, which one binds first, and what each lane needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from functions.backfill.process import HOLD_SECONDS, MAX_WAITING, PAGE_ITEMS
from functions.core.lane import Lane
from infrastructure.function_table import FUNCTIONS
from ops.estimate import segments_for
from ops.plan.domain import Domain
from ops.plan.units import BULK, LIVE, Units
from ops.plan.workload import Worked, Workload

# Lambda gives a whole core to a function of this size, and less to a smaller one.
CORE_MB = 1769
# What a run of embed takes: measured on one core, or usual for a call inside a region.
CORE_SECONDS = 0.010  # of a document
REQUEST_SECONDS = 0.5  # of one to the provider
ROW_SECONDS = 0.002  # of a document, in parallel writes to the ledger
REFRESH_SECONDS = 1.0  # until a search finds what was written: live runs wait for it
# A lane that is planned for its mean would have a backlog at every peak.
HEADROOM = 2.0
LEAST_CONCURRENCY, MOST_CONCURRENCY = 2, 1000

# Quotas of a new account, each with its name in Service Quotas.
TABLE_WRITE_UNITS = 40_000
LAMBDA_CONCURRENCY = 1000
LAMBDA_LEFT_TO_OTHERS = 100
# Of DynamoDB, for each partition; the sparse index spreads its rows over as many as it has shards.
PARTITION_WRITE_UNITS = 1000
OPEN_SHARDS = 32
# Of the high throughput mode, in us-east-1: calls a second, of ten messages each.
FIFO_CALLS = 70_000


@dataclass(frozen=True)
class LanePlan:
    """One lane: what its mapping should be allowed."""

    lane: Lane
    documents_per_second: float
    run_seconds: float
    concurrency: int


@dataclass(frozen=True)
class Limit:
    """Something that lets only so many documents through, and what raises it."""

    name: str
    documents_per_second: float
    ask: str
    is_configured: bool = False  # it comes from settings, and not from what is usual

    def seconds(self, documents: float) -> float | None:
        """Return how long so many documents take; None: live writes leave nothing for them."""
        if not documents:
            return 0.0
        return documents / self.documents_per_second if self.documents_per_second else None


def run_seconds(lane: Lane, documents: float, worked: Worked, workload: Workload) -> float:
    """Return how long a run of embed takes with so many documents."""
    core = min(worked.memory_mb / CORE_MB, 1.0)
    own = documents * (CORE_SECONDS / core + ROW_SECONDS)
    waits = REFRESH_SECONDS if lane.traits.is_searchable_at_once else 0.0
    return own + waits + REQUEST_SECONDS * worked.requests(documents, workload)


def live_batch(writes_per_second: float) -> float:
    """Return how many documents of the live lanes a run finds together."""
    gathered = writes_per_second * 1.0  # the stream's window, in seconds
    return min(max(gathered, 1.0), float(Lane.NORMAL.traits.batch_size))


def lanes(worked: Worked, workload: Workload, load_per_second: float) -> Iterator[LanePlan]:
    """Plan each lane: live ones for the application's writes, bulk for the load."""
    full = Lane.NORMAL.traits.batch_size
    writes = workload.writes_per_second
    live = run_seconds(Lane.NORMAL, full, worked, workload)
    # Any write may ask for the high lane, so that each of the two can take them all.
    for lane in (Lane.HIGH, Lane.NORMAL):
        yield LanePlan(lane, writes, live, _concurrency(HEADROOM * writes * live / full))
    batch = Lane.BULK.traits.batch_size
    bulk = run_seconds(Lane.BULK, batch, worked, workload)
    yield LanePlan(Lane.BULK, load_per_second, bulk, _concurrency(load_per_second * bulk / batch))
    # A delete needs no provider, and a tenth of the writes is more than usual.
    deletes = Lane.DELETE.traits.batch_size
    yield LanePlan(Lane.DELETE, writes / 10, 1.0, _concurrency(HEADROOM * writes / 10 / deletes))


def limits(
    worked: Worked, workload: Workload, domain: Domain, *, bulk_concurrency: int | None = None
) -> list[Limit]:
    """List what bounds a load through the bulk lane, beside the live writes; tightest first."""
    found = [
        *_provider(worked, workload),
        *_lambda(worked, workload, bulk_concurrency),
        *_ledger(workload),
        _scan(workload),
        Limit(
            "OpenSearch: vectors that its cores put into graphs",
            _left(domain.vectors_per_second / workload.chunks, workload),
            "larger or more data nodes, until the load is over",
        ),
    ]
    return sorted(found, key=lambda one: one.documents_per_second)


def live_limits(worked: Worked, workload: Workload, domain: Domain) -> list[Limit]:
    """List what bounds the writes of an application; tightest first."""
    batch = Lane.NORMAL.traits.batch_size
    run = run_seconds(Lane.NORMAL, batch, worked, workload)
    found = [
        *(
            Limit(name, amount, ask, is_configured=True)
            for name, amount, ask in _provider_rates(worked, workload, batch)
        ),
        Limit(
            "Lambda: calls of the account at once",
            (LAMBDA_CONCURRENCY - LAMBDA_LEFT_TO_OTHERS) * batch / run,
            ASK_LAMBDA,
        ),
        Limit(
            "Lambda: runs of the normal lane at once",
            MOST_CONCURRENCY * batch / run,
            "a second target, or priorities: a mapping takes 1,000",
        ),
        Limit(
            "DynamoDB: write units of the ledger's table",
            TABLE_WRITE_UNITS / LIVE.write_units,
            ASK_WRITES,
        ),
        _open_index(LIVE),
        Limit("SQS: calls of a FIFO queue", FIFO_CALLS / LIVE.queue_calls(batch), ASK_FIFO),
        Limit(
            "OpenSearch: vectors that its cores put into graphs",
            domain.vectors_per_second / workload.chunks,
            "larger or more data nodes",
        ),
    ]
    return sorted(found, key=lambda one: one.documents_per_second)


ASK_WRITES = "Service Quotas, DynamoDB: Table-level write throughput limit"
ASK_LAMBDA = "Service Quotas, Lambda: Concurrent executions (L-B99A9384)"
ASK_FIFO = "AWS Support: a higher FIFO throughput quota of the region"


def _provider_rates(
    worked: Worked, workload: Workload, batch: int
) -> Iterator[tuple[str, float, str]]:
    if worked.tokens_per_minute and workload.tokens:
        amount = worked.tokens_per_minute / 60 / workload.tokens
        yield "provider: tokens per minute", amount, "the provider: a higher limit of tokens"
    if worked.requests_per_minute:
        requests = worked.requests(batch, workload) / batch
        amount = worked.requests_per_minute / 60 / requests
        yield "provider: requests per minute", amount, "the provider: a higher limit of requests"


def _provider(worked: Worked, workload: Workload) -> Iterator[Limit]:
    for name, amount, ask in _provider_rates(worked, workload, Lane.BULK.traits.batch_size):
        if worked.has_headers:
            yield Limit(name, _left(amount, workload), ask, is_configured=True)
        else:
            share = worked.concurrency.bulk / worked.workers
            why = f"a larger share: concurrency.bulk is {worked.concurrency.bulk} of"
            yield Limit(name, amount * share, f"{why} {worked.workers} workers", is_configured=True)
    if worked.tokens_per_day and workload.tokens:
        per_second = worked.tokens_per_day / 86_400 / workload.tokens
        yield Limit("budget: what it leaves to bulk", per_second, "budget in cdk.json", True)


def _lambda(worked: Worked, workload: Workload, bulk: int | None) -> Iterator[Limit]:
    batch = Lane.BULK.traits.batch_size
    each = batch / run_seconds(Lane.BULK, batch, worked, workload)
    if bulk is not None:
        yield Limit(f"bulk lane: {bulk} runs at once", bulk * each, "concurrency.bulk in cdk.json")
    live = sum(one.concurrency for one in lanes(worked, workload, 0) if one.lane is not Lane.BULK)
    others = sum(spec.reserved_concurrency or 0 for spec in FUNCTIONS.values())
    free = LAMBDA_CONCURRENCY - LAMBDA_LEFT_TO_OTHERS - live - others
    yield Limit(
        "Lambda: calls of the account at once",
        max(free, 0) * each,
        ASK_LAMBDA,
    )


def _ledger(workload: Workload) -> Iterator[Limit]:
    most = TABLE_WRITE_UNITS / BULK.write_units
    yield Limit("DynamoDB: write units of the ledger's table", _left(most, workload), ASK_WRITES)
    yield _open_index(BULK)


def _open_index(units: Units) -> Limit:
    return Limit(
        "DynamoDB: partitions of the ledger's sparse index",
        OPEN_SHARDS * PARTITION_WRITE_UNITS / units.index_units,
        "nothing: it takes more shards in functions/adapters/dynamodb_ledger.py",
    )


def _scan(workload: Workload) -> Limit:
    segments = segments_for(workload.documents)
    at_once = MAX_WAITING + segments * PAGE_ITEMS
    return Limit(
        f"backfill: {MAX_WAITING:,} tasks may wait, looked at every {HOLD_SECONDS} s",
        at_once / HOLD_SECONDS,
        "nothing: it keeps what a cancelled backfill still pays for small",
    )


def _left(documents_per_second: float, workload: Workload) -> float:
    """Return what live writes, which come first, leave to a load."""
    return max(documents_per_second - workload.writes_per_second, 0.0)


def _concurrency(wanted: float) -> int:
    return min(max(ceil(wanted), LEAST_CONCURRENCY), MOST_CONCURRENCY)
