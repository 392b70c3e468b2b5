"""What a backfill will come to: from a sample of the table, cut by the chunker that embed uses."""

from functions.backfill.compare import Compare
from functions.core.backfill_job import Estimate, Only, is_owed
from functions.core.document import Document, read_document
from functions.core.lane import Lane
from functions.core.scan import ScannedItem
from functions.core.settings import SourceSettings, TargetSettings
from infrastructure.config.prices import price_of

# From the beginning of each part of the table: keys are spread by their hash.
SAMPLE_SEGMENTS = 10
SAMPLE_ITEMS = 50  # of each


def estimate(compare: Compare, only: Only) -> Estimate:
    """Estimate documents, tokens and time; exact where the sample is the whole table."""
    # Loaded only now: the splitter brings its vocabulary.
    from functions.embed.chunking import count_tokens
    from functions.embed.prepare import split_text

    source, target = compare.pair.source, compare.pair.target
    sample, is_whole = _sample(compare)
    found = compare.with_entries(list(compare.with_rows(sample)))
    owed = [seen for seen in found if is_owed(seen, only, compare.pair)]
    tokens = sum(
        count_tokens(text, most=target.chunk_tokens)
        for document in (read_document(seen.item or {}, source) for seen in owed)
        if isinstance(document, Document)
        for _, text in split_text(document, target)
    )
    items = len(sample) if is_whole else max(compare.table.count(source), len(sample))
    times = items / len(sample) if sample else 0
    documents, tokens = round(len(owed) * times), round(tokens * times)
    price = target.usd_per_million_tokens or price_of(target.model)
    return Estimate(
        items=items,
        documents=documents,
        tokens=tokens,
        seconds=seconds_at_limits(target, documents=documents, tokens=tokens),
        dollars=None if price is None else tokens * price / 1_000_000,
    )


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


def _sample(compare: Compare) -> tuple[list[ScannedItem], bool]:
    """Return the first items of each part, and whether these are all of the table."""
    source: SourceSettings = compare.pair.source
    pages = [
        compare.table.scan(
            source, segment=number, segments=SAMPLE_SEGMENTS, after=None, most=SAMPLE_ITEMS
        )
        for number in range(SAMPLE_SEGMENTS)
    ]
    items = [item for page in pages for item in page.items]
    return items, all(page.last is None for page in pages)
