"""What a backfill is expected to come to, from a sample of the table."""

import pytest

from functions.backfill.compare import Compare
from functions.core.backfill_job import Estimate, Only
from functions.core.verification import Pair
from functions.embed.chunking import count_tokens
from local.memory.pipeline import MemoryPipeline
from local.memory.table import MemoryTables
from ops.estimate import estimate, seconds_at_limits, segments_for
from tests.builders import make_pipeline, make_source, make_target

ITEMS = 1200  # more than a sample holds
TEXT = "the quick brown fox jumps over the lazy dog " * 4
TOKENS = count_tokens(TEXT.strip(), most=400)


def compare(pipeline: MemoryPipeline) -> Compare:
    pair = Pair(make_source(), make_target())
    tables = MemoryTables(pipeline.tables)
    return Compare(tables, pipeline.indexes["default"], pipeline.ledger, lambda _: None, pair)


def filled(number: int) -> MemoryPipeline:
    pipeline = make_pipeline()
    for place in range(number):
        pipeline.tables["articles"].put({"id": f"{place}", "body": TEXT})
    return pipeline


def test_small_table_is_counted_exactly() -> None:
    """R43: documents, tokens by embed's own chunker, dollars; half of it is indexed already."""
    pipeline = filled(10)
    pipeline.drain()
    for place in range(10, 20):
        pipeline.tables["articles"].put({"id": f"{place}", "body": TEXT})

    found = estimate(compare(pipeline), Only.MISSING)

    assert 36 <= TOKENS <= 45
    assert found == Estimate(
        items=20, documents=10, tokens=10 * TOKENS, dollars=10 * TOKENS * 0.02 / 1_000_000
    )


def test_large_table_is_estimated_from_a_sample() -> None:
    """R43: as many as DynamoDB says there are."""
    found = estimate(compare(filled(ITEMS)), Only.ALL)

    assert (found.items, found.documents, found.tokens) == (ITEMS, ITEMS, TOKENS * ITEMS)


def test_empty_table_has_nothing_to_send() -> None:
    """R43: no division by its items."""
    assert estimate(compare(filled(0)), Only.MISSING).documents == 0


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        ({}, None),
        ({"tokens_per_minute": 1_000_000}, 600),
        ({"requests_per_minute": 100}, 30),
        ({"tokens_per_minute": 1_000_000, "requests_per_minute": 100}, 600),
    ],
)
def test_time_is_that_of_the_tightest_limit(limits: dict[str, int], seconds: float | None) -> None:
    """R43: at the configured limits of the provider."""
    target = make_target(**limits)

    assert seconds_at_limits(target, documents=10_000, tokens=10_000_000) == seconds


@pytest.mark.parametrize(("items", "segments"), [(0, 1), (9_999, 1), (30_000, 3), (10**9, 10)])
def test_large_tables_are_scanned_in_more_parts(items: int, segments: int) -> None:
    """R43: at least one, at most ten."""
    assert segments_for(items) == segments
