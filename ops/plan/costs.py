"""Dollars of each part: once for a load, and each month for what goes on."""

from collections.abc import Iterator
from dataclasses import dataclass

from functions.core.lane import Lane
from functions.core.settings import VerifySettings
from infrastructure.config.prices import USD_PER_GB, USD_PER_GB_MONTH, USD_PER_MILLION
from infrastructure.function_table import FUNCTIONS
from ops.plan.capacity import live_batch, run_seconds
from ops.plan.domain import HOURS_PER_MONTH, Domain
from ops.plan.units import BULK, LIVE, Units
from ops.plan.workload import Worked, Workload

SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600
DAYS_PER_MONTH = HOURS_PER_MONTH / 24
# Lambda asks an idle queue with five calls at once, each waits for 20 seconds, and of a mapping
# with a maximum concurrency it does not make fewer:
# https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
IDLE_CALLS_PER_MONTH = 5 * SECONDS_PER_MONTH / 20
FIFO_LANES, STANDARD_QUEUES = 2, 3  # high and normal; bulk, delete and what backfill sends itself
# A call of a schedule that finds nothing to do.
TICK_SECONDS = 1.0
ENQUEUE_SECONDS, ENQUEUE_CALL_SECONDS = 0.008, 0.05  # of a document, of a call
ROW_BYTES = 1000
LOG_LINE_BYTES = 500
# The proof reads half a unit in its scan, the ledger's row, and the item of each entry again.
PROOF_READS = 2.5


@dataclass(frozen=True)
class PartCost:
    """What one part costs; the parts are those of the bill."""

    part: str
    load: float
    month: float


def costs(
    worked: Worked, workload: Workload, domain: Domain, *, has_events: bool = True
) -> list[PartCost]:
    """Return the cost of each part; the provider's is 0 where its price is not known."""
    load = dict(_documents(BULK, workload.documents, worked, workload, is_bulk=True))
    writes = workload.writes_per_second * SECONDS_PER_MONTH
    month = dict(_documents(LIVE, writes, worked, workload, is_bulk=False))
    for part, dollars in _standing(workload, domain):
        month[part] = month.get(part, 0.0) + dollars
    if not has_events:
        load.pop("EventBridge")
        month.pop("EventBridge")
    return [PartCost(part, load.get(part, 0.0), month.get(part, 0.0)) for part in month]


def _documents(
    units: Units, number: float, worked: Worked, workload: Workload, *, is_bulk: bool
) -> Iterator[tuple[str, float]]:
    """Yield what so many documents cost."""
    yield (
        "DynamoDB",
        _million(number * units.write_units, "dynamodb_write_unit")
        + _million(number * units.read_units(workload.item_bytes), "dynamodb_read_unit"),
    )
    lane = Lane.BULK if is_bulk else Lane.NORMAL
    batch = lane.traits.batch_size if is_bulk else live_batch(workload.writes_per_second)
    kind = "sqs_standard_call" if is_bulk else "sqs_fifo_call"
    yield "SQS", _million(number * units.queue_calls(batch), kind)
    yield "Lambda", _functions(number, batch, lane, worked, workload)
    yield "OpenSearch", 0.0
    price = worked.usd_per_million_tokens or 0.0
    yield "provider", number * workload.tokens * price / 1_000_000
    yield "EventBridge", _million(number * units.events, "eventbridge_event")
    yield "logs", number * units.log_lines * LOG_LINE_BYTES / 1e9 * USD_PER_GB["logs"]


def _functions(
    number: float, batch: float, lane: Lane, worked: Worked, workload: Workload
) -> float:
    """Return what embed, and enqueue or backfill before it, cost for so many documents."""
    embed = run_seconds(lane, batch, worked, workload) * worked.memory_mb / 1024
    before = ENQUEUE_SECONDS * batch + ENQUEUE_CALL_SECONDS
    before *= FUNCTIONS["enqueue"].memory_mb / 1024
    calls = number / batch
    return _million(2 * calls, "lambda_call") + _million(
        calls * (embed + before), "lambda_gb_second"
    )


def _standing(workload: Workload, domain: Domain) -> Iterator[tuple[str, float]]:
    """Yield what each month costs whether a document is written or not."""
    proofs = DAYS_PER_MONTH / VerifySettings().days
    yield (
        "DynamoDB",
        workload.documents * ROW_BYTES / 1e9 * USD_PER_GB_MONTH["dynamodb"]
        + _million(workload.documents * PROOF_READS * proofs, "dynamodb_read_unit"),
    )
    yield (
        "SQS",
        _million(FIFO_LANES * IDLE_CALLS_PER_MONTH, "sqs_fifo_call")
        + _million(STANDARD_QUEUES * IDLE_CALLS_PER_MONTH, "sqs_standard_call"),
    )
    for spec in FUNCTIONS.values():
        calls = sum(SECONDS_PER_MONTH / 60 / tick.minutes for tick in spec.ticks)
        gb_seconds = calls * TICK_SECONDS * spec.memory_mb / 1024
        yield (
            "Lambda",
            _million(calls, "lambda_call") + _million(gb_seconds, "lambda_gb_second"),
        )
    yield "OpenSearch", domain.dollars_per_month


def _million(amount: float, what: str) -> float:
    return amount * USD_PER_MILLION[what] / 1_000_000
