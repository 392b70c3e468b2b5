"""What `make bench` makes of counts and prices."""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.bench.dollars import Usage, parts, provider, rows
from benchmarks.bench.metered import asks_for_vectors
from benchmarks.bench.scale import Mark
from benchmarks.bench.scale import rows as scale_rows
from benchmarks.bench.site import per_document
from benchmarks.bench.units import Counted
from infrastructure.config.prices import USD_PER_GB, USD_PER_MILLION, USD_PER_MILLION_TOKENS

NOTHING = Usage(
    write_units=0,
    read_units=0,
    sqs_calls=0,
    is_fifo=False,
    invocations=0,
    gb_seconds=0,
    events=0,
    log_bytes=0,
    tokens=250,
)


@pytest.mark.parametrize(
    ("usage", "part", "dollars"),
    [
        (replace(NOTHING, write_units=5), "DynamoDB", 5 * USD_PER_MILLION["dynamodb_write_unit"]),
        (replace(NOTHING, read_units=2), "DynamoDB", 2 * USD_PER_MILLION["dynamodb_read_unit"]),
        (replace(NOTHING, sqs_calls=0.4), "SQS", 0.4 * USD_PER_MILLION["sqs_standard_call"]),
        (
            replace(NOTHING, sqs_calls=0.4, is_fifo=True),
            "SQS",
            0.4 * USD_PER_MILLION["sqs_fifo_call"],
        ),
        (replace(NOTHING, invocations=0.1), "Lambda", 0.1 * USD_PER_MILLION["lambda_call"]),
        (replace(NOTHING, gb_seconds=0.02), "Lambda", 0.02 * USD_PER_MILLION["lambda_gb_second"]),
        (replace(NOTHING, events=1), "EventBridge", USD_PER_MILLION["eventbridge_event"]),
        (replace(NOTHING, log_bytes=1000), "logs", USD_PER_GB["logs"]),
    ],
)
def test_each_part_is_billed_by_its_price(usage: Usage, part: str, dollars: float) -> None:
    """Cost: a million documents, by list prices of one dated file."""
    found = parts(usage)

    assert found.pop(part) == pytest.approx(dollars)
    assert set(found.values()) == {0}


def test_provider_is_the_cheapest_model_of_openai() -> None:
    """Cost: a million documents of 250 tokens are 250 million tokens."""
    model, dollars = provider(NOTHING)

    assert model == "text-embedding-3-small"
    assert dollars == pytest.approx(250 * USD_PER_MILLION_TOKENS[model])


def test_aws_is_to_be_cheaper_than_the_provider() -> None:
    """Cost: 5 USD of tokens; 7 write units are 4.38 USD, 9 are 5.63."""
    few, many = (
        row for units in (7, 9) for row in rows({"live": replace(NOTHING, write_units=units)})
    )

    assert few.is_met
    assert not many.is_met
    assert "DynamoDB 100 %" in few.note


def test_meters_are_read_as_a_difference() -> None:
    """Honest figures: what was there before a load is not counted to it, nor other functions."""
    before = Counter({"embed calls": 5, "embed MB ms": 0, "poller calls": 3})
    after = Counter(
        {
            "embed calls": 15,
            "enqueue calls": 2,
            "sweep calls": 9,
            "embed MB ms": 1024 * 1000,
            "poller calls": 23,
            "embed CPU ms": 400,
        }
    )

    each = per_document(before, after, 100)

    assert each["invocations"] == pytest.approx(0.12)
    assert each["GB-seconds"] == pytest.approx(0.01)
    assert each["poller calls"] == pytest.approx(0.2)
    assert each["embed CPU ms"] == pytest.approx(4)


def test_read_of_a_key_that_does_not_exist_is_a_unit() -> None:
    """Cost: DynamoDB bills it, and its local engine does not say so."""
    counted = Counted(10, {"keys": 10}, {"keys": 20, "items": 20, "read units": 20})

    assert counted.read_units == pytest.approx(3)
    assert counted.each("keys") == pytest.approx(3)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ({"_source_includes": "deleted,chunks.hash,chunks.vector"}, True),
        ({"_source_includes": "deleted,chunks.hash"}, False),
        ({"_source": "content_hash"}, False),
        ({"_source": "false"}, False),
        ({"_source_excludes": "chunks.vector"}, False),
        ({}, True),
    ],
)
def test_read_with_vectors_is_told_apart(query: dict[str, str], asked: bool) -> None:
    """Cost: vectors are read of entries that exist, and of no other."""
    assert asks_for_vectors(query) is asked


def test_growth_is_seen() -> None:
    """Scale: slower by a quarter is missed; so is a verify that grows faster than the table."""
    small = Mark(1_000, 100, 80, 0.1, 1)
    flat = replace(small, documents=100_000, verify_seconds=100)
    slower = replace(flat, per_second=75, verify_seconds=150)

    assert [row.is_met for row in scale_rows([small, flat])] == [True] * 4
    assert [row.is_met for row in scale_rows([small, slower])] == [False, True, True, False]
