"""What a backfill is expected to come to, from a sample of the table."""

from datetime import UTC, datetime
from typing import Any

import pytest

from functions.backfill.compare import Compare
from functions.core.backfill_job import Estimate, Only
from functions.core.budget import NANO, Raised, Spent
from functions.core.control import Control
from functions.core.document import Document, chunk_hash
from functions.core.identity import DocumentId, entry_id
from functions.core.settings import BudgetSettings
from functions.core.verification import Pair
from functions.embed.chunking import count_tokens
from functions.embed.prepare import split_text
from local.memory.pipeline import MemoryPipeline
from local.memory.table import MemoryTables
from ops.estimate import estimate, seconds_at_limits, segments_for, within_budget
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


NOON_MS = round(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("budget", "control", "allowed", "days"),
    [
        ({"tokens_per_day": 2_000}, {}, 1_600, 0),
        ({"tokens_per_day": 500}, {}, 400, 2),
        ({"tokens_per_day": 500}, {"spent": Spent("2026-11-29", 300, "2026-11")}, 100, 3),
        ({"tokens_per_day": 500}, {"raised": Raised(NOON_MS + 1, tokens=1_000)}, 800, 1),
        # The second month begins in two days.
        ({"usd_per_month": 0.001}, {}, 800, 2),
        ({"usd_per_month": 0.001}, {"spent": Spent("", 0, "2026-11", NANO // 1000)}, 0, 33),
        ({"usd_per_month": 0.001, "tokens_per_day": 300}, {}, 240, 4),
        ({"tokens_per_day": 1}, {}, 0, None),
        (None, {}, None, None),
    ],
)
def test_estimate_says_what_the_budget_allows(
    budget: dict[str, Any] | None, control: dict[str, Any], allowed: int | None, days: int | None
) -> None:
    """R43, R19: bulk leaves a fifth to live writes; each day and month allow their caps again."""
    settings = None if budget is None else BudgetSettings.model_construct(**budget)
    target = make_target(usd_per_million_tokens=1.0).model_copy(update={"budget": settings})

    found = within_budget(
        Estimate(items=10, documents=10, tokens=1_000),
        target,
        Control(**control),
        now_ms=NOON_MS,
    )

    assert (found.budget_tokens, found.budget_days) == (allowed, days)


@pytest.mark.parametrize(("items", "segments"), [(0, 1), (9_999, 1), (30_000, 3), (10**9, 10)])
def test_large_tables_are_scanned_in_more_parts(items: int, segments: int) -> None:
    """R43: at least one, at most ten."""
    assert segments_for(items) == segments


def test_vectors_that_are_there_are_not_paid() -> None:
    """R44 R43: chunks that the index of a replaced target has, document by document."""
    pipeline = filled(4)
    pair = compare(pipeline).pair
    [text] = [inputs for _, inputs in split_text(Document(TEXT, ""), pair.target)]
    paid = {entry_id("articles", DocumentId(name)) for name in "13"}

    found = estimate(
        compare(pipeline),
        Only.MISSING,
        lambda ids: {name: {chunk_hash(text, pair.target)} for name in paid.intersection(ids)},
    )

    assert (found.documents, found.tokens) == (4, 2 * TOKENS)
