"""What a backfill will come to: from a sample of the table, cut by the chunker that embed uses."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from functions.backfill.compare import ROUND_DOCUMENTS, Compare
from functions.core.backfill_job import Estimate, Only, is_owed
from functions.core.batches import batches
from functions.core.budget import Budget, budget_of
from functions.core.control import Control
from functions.core.document import Document, chunk_hash, read_document
from functions.core.identity import EntryId, entry_id
from functions.core.lane import Lane
from functions.core.settings import TargetSettings
from infrastructure.config.prices import price_of
from ops.plan.workload import count, sample

KnownChunks = Callable[[Sequence[EntryId]], Mapping[EntryId, Collection[str]]]

# Nobody waits for a budget that pays for it after ten years.
MOST_DAYS = 3653


def estimate(compare: Compare, only: Only, known: KnownChunks = lambda _: {}) -> Estimate:
    """Estimate documents, tokens and time; exact where the sample is the whole table.

    `known` returns the hashes of chunks whose vectors are there already, by entry.
    """
    # Loaded only now: the splitter brings its vocabulary.
    from functions.embed.chunking import count_tokens
    from functions.embed.prepare import split_text

    source, target = compare.pair.source, compare.pair.target
    items, is_whole = sample(compare)
    found = compare.with_entries(list(compare.with_rows(items)))
    owed = [seen for seen in found if is_owed(seen, only, compare.pair)]
    ids = {seen.document_id: entry_id(source.name, seen.document_id) for seen in owed}
    paid = {
        name: chunks
        for part in batches(list(ids.values()), ROUND_DOCUMENTS)
        for name, chunks in known(part).items()
    }
    tokens = sum(
        count_tokens(text, most=target.chunk_tokens)
        for seen in owed
        if isinstance(document := read_document(seen.item or {}, source), Document)
        for _, text in split_text(document, target)
        if chunk_hash(text, target) not in paid.get(ids[seen.document_id], ())
    )
    number = count(compare, items, is_whole=is_whole)
    times = number / len(items) if items else 0
    documents, tokens = round(len(owed) * times), round(tokens * times)
    price = target.usd_per_million_tokens or price_of(target.model)
    return Estimate(
        items=number,
        documents=documents,
        tokens=tokens,
        seconds=seconds_at_limits(target, documents=documents, tokens=tokens),
        dollars=None if price is None else tokens * price / 1_000_000,
    )


def within_budget(
    found: Estimate, target: TargetSettings, control: Control, *, now_ms: int | None = None
) -> Estimate:
    """Add what the budget of a target allows: bulk leaves a share of it to live writes."""
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    budget = budget_of(target, control, now_ms=now_ms, is_live=False)
    usual = budget_of(target, Control(), now_ms=now_ms, is_live=False)
    if budget is None or usual is None:
        return found
    days = days_to_pay(found.tokens, budget, usual)
    return replace(found, budget_tokens=budget.left_tokens, budget_days=days)


def days_to_pay(tokens: int, budget: Budget, usual: Budget) -> int | None:
    """Return after how many days a budget has paid for so many tokens; None: not in ten years.

    0 is today. Each later day and month allow what is usual, without what a person has raised.
    """
    caps = {limit.period: limit.left_tokens for limit in usual.limits()}
    left = {limit.period: limit.left_tokens for limit in budget.limits()}
    day = datetime.fromisoformat(budget.spent.day)
    for number in range(MOST_DAYS):
        paid = min(left.values())
        tokens -= paid
        if tokens <= 0:
            return number
        day += timedelta(days=1)
        renewed = ("day", "month") if day.day == 1 else ("day",)
        left = {
            period: caps[period] if period in renewed else amount - paid
            for period, amount in left.items()
        }
    return None


def seconds_at_limits(target: TargetSettings, *, documents: int, tokens: int) -> float | None:
    """Return how long the provider's configured limits make it last; None: there are none."""
    requests = max(
        documents / Lane.BULK.traits.batch_size, tokens / (target.tokens_per_request or 300_000)
    )
    minutes = [
        amount / limit
        for amount, limit in (
            (tokens, target.tokens_per_minute),
            (requests, target.requests_per_minute),
        )
        if limit
    ]
    return 60 * max(minutes) if minutes else None


def segments_for(items: int) -> int:
    """Return in how many parts a table of so many items is scanned."""
    return min(max(1, items // 10_000), 10)
