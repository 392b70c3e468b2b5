"""What is to be embedded, and by what: measured on a sample of a table, or given as numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from functions.backfill.compare import Compare
from functions.core.document import Document, read_document
from functions.core.scan import ScannedItem
from functions.core.settings import SourceSettings, TargetSettings
from infrastructure.config.prices import price_of
from infrastructure.config.provider import limits_of
from infrastructure.config.target import ConcurrencyConfig, TargetConfig
from infrastructure.function_table import FUNCTIONS

# From the beginning of each part of the table: keys are spread by their hash.
SAMPLE_SEGMENTS = 10
SAMPLE_ITEMS = 50  # of each
# These answer with what the whole account may still send; each worker of the others is given its
# share of the configured limit.
PROVIDERS_WITH_HEADERS = ("openai", "azure")


@dataclass(frozen=True)
class Workload:
    """Documents that are there, and documents that an application writes; all of one size."""

    documents: int
    tokens: float  # of one document
    chunks: float
    item_bytes: float
    writes_per_second: float = 0.0

    @property
    def all_tokens(self) -> int:
        return round(self.documents * self.tokens)

    @property
    def all_chunks(self) -> int:
        return round(self.documents * self.chunks)


@dataclass(frozen=True)
class Worked:
    """The settings of a target that decide how fast it is and what it costs."""

    dimensions: int
    usd_per_million_tokens: float | None
    tokens_per_request: int
    inputs_per_request: int
    tokens_per_minute: int | None
    requests_per_minute: int | None
    has_headers: bool
    tokens_per_day: float | None  # of the budget, for bulk
    concurrency: ConcurrencyConfig
    memory_mb: int = FUNCTIONS["embed"].memory_mb

    @classmethod
    def of(
        cls,
        target: TargetSettings | TargetConfig,
        *,
        dimensions: int,
        tokens_per_minute: int | None = None,
        requests_per_minute: int | None = None,
    ) -> "Worked":
        """Read the settings of a target; limits that are given count more."""
        most = limits_of(target)
        price = target.usd_per_million_tokens or price_of(target.model)
        return cls(
            dimensions=dimensions,
            usd_per_million_tokens=price,
            tokens_per_request=target.tokens_per_request or most.tokens_per_request,
            inputs_per_request=target.inputs_per_request or most.inputs_per_request,
            tokens_per_minute=tokens_per_minute or target.tokens_per_minute,
            requests_per_minute=requests_per_minute or target.requests_per_minute,
            has_headers=target.provider in PROVIDERS_WITH_HEADERS,
            tokens_per_day=_tokens_per_day(target, price),
            concurrency=getattr(target, "concurrency", ConcurrencyConfig()),
        )

    @property
    def workers(self) -> int:
        return self.concurrency.total(sequential_sources=0)

    def requests(self, documents: float, workload: Workload) -> float:
        """Return how many requests so many documents of one run take."""
        tokens, chunks = documents * workload.tokens, documents * workload.chunks
        by_size = max(tokens / self.tokens_per_request, chunks / self.inputs_per_request)
        return max(1.0, by_size)


def sampled(compare: Compare, writes_per_second: float) -> Workload:
    """Measure the items of a sample with the chunker that embed uses."""
    found, is_whole = sample(compare)
    measured = measure([one.item for one in found], compare.pair.source, compare.pair.target)
    number = count(compare, found, is_whole=is_whole)
    return replace(measured, documents=number, writes_per_second=writes_per_second)


def sample(compare: Compare) -> tuple[list[ScannedItem], bool]:
    """Return the first items of each part, and whether these are all of the table."""
    source = compare.pair.source
    pages = [
        compare.table.scan(
            source, segment=number, segments=SAMPLE_SEGMENTS, after=None, most=SAMPLE_ITEMS
        )
        for number in range(SAMPLE_SEGMENTS)
    ]
    items = [item for page in pages for item in page.items]
    return items, all(page.last is None for page in pages)


def count(compare: Compare, found: Sequence[ScannedItem], *, is_whole: bool) -> int:
    """Return how many items the table has, by a sample of it."""
    return len(found) if is_whole else max(compare.table.count(compare.pair.source), len(found))


def measure(
    items: Iterable[Mapping[str, Any]], source: SourceSettings, target: TargetSettings
) -> Workload:
    """Return the mean of some items; one without a text has no chunks."""
    # Loaded only now: the splitter brings its vocabulary.
    from functions.embed.chunking import count_tokens
    from functions.embed.prepare import split_text

    number = tokens = chunks = size = 0
    for item in items:
        number += 1
        size += item_bytes(item)
        document = read_document(item, source)
        texts = split_text(document, target) if isinstance(document, Document) else []
        for _, text in texts:
            tokens += count_tokens(text, most=target.chunk_tokens)
            chunks += 1
    return Workload(number, tokens / max(number, 1), chunks / max(number, 1), size / max(number, 1))


def item_bytes(value: Any) -> int:
    """Return about how many bytes DynamoDB counts: names and values, as they are written."""
    if isinstance(value, Mapping):
        return sum(len(name.encode()) + item_bytes(one) for name, one in value.items())
    if isinstance(value, (list, set)):
        return sum(map(item_bytes, value))
    return len(value if isinstance(value, bytes) else str(value).encode())


def _tokens_per_day(target: TargetSettings | TargetConfig, price: float | None) -> float | None:
    budget = target.budget
    if budget is None or not budget.limits_target:
        return None
    caps = [budget.tokens_per_day]
    if budget.usd_per_month is not None and price:
        caps.append(round(budget.usd_per_month / price * 1_000_000 / 30))
    return min(cap for cap in caps if cap is not None) * (1 - budget.live_share)
