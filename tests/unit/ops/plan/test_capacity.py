"""Concurrency, the limit that binds first, the domain and the dollars of a plan."""

from dataclasses import replace
from typing import Any

import pytest

from functions.core.lane import Lane
from functions.core.settings import BudgetSettings
from infrastructure.config.prices import USD_PER_MILLION
from infrastructure.config.target import ConcurrencyConfig, TargetConfig
from ops.plan.capacity import LEAST_CONCURRENCY, lanes, limits, live_limits, run_seconds
from ops.plan.costs import SECONDS_PER_MONTH, costs
from ops.plan.domain import domain_for
from ops.plan.units import BULK, LIVE
from ops.plan.workload import Worked, Workload, item_bytes, measure
from tests.builders import make_source, make_target

MILLION = Workload(1_000_000, tokens=300, chunks=1, item_bytes=1200, writes_per_second=5)


def make_worked(**changes: Any) -> Worked:
    options = {"model": "text-embedding-3-small"} | changes
    return Worked.of(TargetConfig(**options), dimensions=1536)


def first(worked: Worked, workload: Workload) -> tuple[str, float]:
    found = limits(worked, workload, domain_for(workload.all_chunks, worked.dimensions))[0]
    return found.name, found.documents_per_second


@pytest.mark.parametrize(
    ("settings", "name", "per_second"),
    [
        # What live writes take is not left to the load.
        ({"tokens_per_minute": 1_000_000}, "provider: tokens per minute", 1e6 / 60 / 300 - 5),
        ({"requests_per_minute": 60}, "provider: requests per minute", 200 - 5),
        (
            {"budget": BudgetSettings(tokens_per_day=86_400_000)},
            "budget: what it leaves to bulk",
            1000 * 0.8 / 300,
        ),
        # A provider without headers: each worker is given its share of the limit.
        (
            {
                "provider": "compatible",
                "base_url": "https://models.example.com/v1",
                "tokens_per_minute": 2_700_000,
                "dimensions": 1536,
            },
            "provider: tokens per minute",
            2_700_000 / 60 / 300 * 5 / 27,
        ),
    ],
)
def test_tightest_limit_is_named_first(
    settings: dict[str, Any], name: str, per_second: float
) -> None:
    """R50: the limit that binds first, and how fast it lets documents through."""
    found, amount = first(make_worked(**settings), MILLION)

    assert found == name
    assert amount == pytest.approx(per_second)


def test_live_writes_that_take_all_of_a_limit_leave_nothing_to_load() -> None:
    """R50: a load that never ends is said, not divided by zero."""
    worked = make_worked(tokens_per_minute=1_000_000)
    busy = replace(MILLION, writes_per_second=1000)

    found = limits(worked, busy, domain_for(1_000_000, 1536))[0]

    assert (found.documents_per_second, found.seconds(1)) == (0, None)


def test_lanes_are_as_wide_as_their_writes_need() -> None:
    """R50: twice the mean for live lanes, the load's speed for bulk; never below Lambda's least."""
    quiet = {
        one.lane: one for one in lanes(make_worked(), replace(MILLION, writes_per_second=0), 0)
    }
    busy = {
        one.lane: one
        for one in lanes(make_worked(), replace(MILLION, writes_per_second=1000), 1000)
    }

    assert {one.concurrency for one in quiet.values()} == {LEAST_CONCURRENCY}
    run = run_seconds(Lane.NORMAL, 10, make_worked(), MILLION)
    assert busy[Lane.NORMAL].concurrency == -(-2 * 1000 * run // 10)
    bulk = run_seconds(Lane.BULK, 200, make_worked(), MILLION)
    assert busy[Lane.BULK].concurrency == -(-1000 * bulk // 200)


def test_configured_concurrency_of_bulk_may_be_what_binds() -> None:
    """R50: five runs at once, as deployed by default."""
    domain = domain_for(10_000_000, 64)
    found = limits(make_worked(), MILLION, domain, bulk_concurrency=ConcurrencyConfig().bulk)

    assert found[0].name == "bulk lane: 5 runs at once"


def test_live_writes_have_limits_of_their_own() -> None:
    """R50: ten thousand writes a second are above what a new account allows."""
    found = live_limits(make_worked(), MILLION, domain_for(100_000_000, 1536))
    below = [one.name for one in found if one.documents_per_second < 10_000]

    assert "DynamoDB: write units of the ledger's table" in below
    assert "SQS: calls of a FIFO queue" not in below


@pytest.mark.parametrize(
    ("vectors", "instances"),
    [
        (10_000, "1 x t3.small.search"),
        (1_000_000, "2 x r6g.large.search"),
        (10_000_000, "2 x r6g.4xlarge.search"),
    ],
)
def test_domain_keeps_all_vectors_in_memory(vectors: int, instances: str) -> None:
    """R50: with a copy of each from the second node on."""
    found = domain_for(vectors, 1536)

    assert f"{found.count} x {found.instance_type}" == instances


def test_dollars_are_units_times_prices() -> None:
    """R50: what a document costs is what the steps need, at the dated prices."""
    none = replace(MILLION, documents=0)
    domain = domain_for(0, 1536)
    load = {one.part: one.load for one in costs(make_worked(), MILLION, domain)}
    idle = {
        one.part: one.month
        for one in costs(make_worked(), replace(none, writes_per_second=0), domain)
    }
    live = {one.part: one.month - idle[one.part] for one in costs(make_worked(), none, domain)}
    writes = 5 * SECONDS_PER_MONTH / 1_000_000

    assert load["provider"] == pytest.approx(300 * 0.02)
    assert load["DynamoDB"] == pytest.approx(
        BULK.write_units * USD_PER_MILLION["dynamodb_write_unit"]
        + (BULK.ledger_reads + 1.5) * USD_PER_MILLION["dynamodb_read_unit"]
    )
    assert load["SQS"] == pytest.approx(0.4 * USD_PER_MILLION["sqs_standard_call"])
    # Five writes come together in the stream's window, and each call is paid for five.
    assert live["SQS"] == pytest.approx(writes * 4 / 5 * USD_PER_MILLION["sqs_fifo_call"])
    assert live["EventBridge"] == pytest.approx(writes * LIVE.events)
    assert idle["provider"] == 0
    assert idle["OpenSearch"] == domain.dollars_per_month


def test_sample_is_measured_with_the_chunker_of_embed() -> None:
    """R50: tokens and chunks of what is embedded, bytes of what is stored."""
    items = [{"id": "a", "body": "word " * 1000}, {"id": "b", "body": "word"}, {"id": "c"}]

    found = measure(items, make_source(), make_target(chunk_tokens=400))

    assert found.documents == 3
    assert found.chunks * 3 >= 4
    assert 333 <= found.tokens <= 360
    assert found.item_bytes * 3 == sum(map(item_bytes, items)) == 5000 + 4 + 2 * 4 + 3 * 3
