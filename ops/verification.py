"""Table against index, by sums of buckets: only buckets that differ are read on both sides."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from functions.backfill.compare import Compare, Difference
from functions.backfill.owe import Owe
from functions.backfill.repair import owed_for, repair_all
from functions.core.batches import batches
from functions.core.identity import DocumentId
from functions.core.owing import Owed
from functions.core.scan import ScannedItem
from functions.core.verification import Kind, Pair, Sighting
from ops.bucket_sums import Sums
from ops.frame import SOURCE, TARGET, Noun
from ops.output import FAILED, OK, Answer, UsageError, progress, say, table
from ops.proposal import Proposal, carry_out
from ops.recovery import StderrTelemetry
from ops.selection import Moment

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("State")
PAGE_ITEMS = 1000
PAGE_ENTRIES = 500
# Buckets of one question to the index.
ROUND_BUCKETS = 512
# Of a lost index there are as many as documents; all are counted.
SHOWN_DIFFERENCES = 1000
# So many are looked at again together: that bounds the memory, and how often it is waited.
ROUND_SUSPECTS = 10_000
REPAIRED_AT_ONCE = 1000
MEANINGS = {
    Kind.MISSING: "the item has no entry in the index",
    Kind.STALE: "the entry is of another text, other metadata or other settings",
    Kind.ORPHANED: "can be found, and no item asks for it",
    Kind.WITHOUT_VECTORS: "the entry has no vector, and no search by meaning finds it",
    Kind.WRONG_MODEL: "the vectors are of another model",
    Kind.WRONG_VERSION: "the index holds another version than the ledger says",
}


class DifferentDocument(Answer):
    """A document whose entry is not what its item asks for."""

    source: str
    target: str
    document: str
    kind: Kind


class Differences(Answer):
    """Every document whose entry is not what its item asks for."""

    documents: int
    counts: dict[Kind, int]
    differences: tuple[DifferentDocument, ...]
    sent: int | None = None  # None: without --repair

    @property
    def exit_code(self) -> int:
        found = sum(self.counts.values())
        return OK if found == (self.sent or 0) else FAILED

    @property
    def outcome(self) -> str:
        return f"{self.sent or 0:,} of {sum(self.counts.values()):,} sent again"

    def view(self) -> Iterable[Any]:
        if not self.counts:
            return [f"table and index agree: {self.documents:,} documents"]
        rows = [(kind, f"{number:,}", MEANINGS[kind]) for kind, number in self.counts.items()]
        named = [(one.source, one.document, one.kind) for one in self.differences]
        cut = sum(self.counts.values()) - len(named)
        return [
            table(["source", "document", "kind"], named),
            *([f"and {cut:,} more"] if cut else []),
            "",
            table(["kind", "documents", "meaning"], rows),
            *([] if self.sent is None else [f"{self.sent:,} sent again"]),
        ]


@NOUN.stack_command(
    SOURCE,
    TARGET,
    click.Option(
        ["--since"],
        type=Moment(),
        metavar="TIME",
        help="Only documents that ledger or index saw change since then: 2h, 2026-01-31T12:00.",
    ),
    click.Option(["--repair"], is_flag=True, help="Send every document that differs again."),
    click.Option(["--reason"], metavar="TEXT", help="Why it is repaired; kept in the actions."),
    click.Option(["--yes"], is_flag=True, help="Do not ask."),
    examples=["verify", "verify --repair", "verify --stage prod --source articles --json"],
)
def verify(
    deployment: "Deployment",
    *,
    source: str | None = None,
    target: str | None = None,
    since: datetime | None = None,
    repair: bool = False,
    reason: str | None = None,
    yes: bool = False,
    wait: Callable[[float], None] = time.sleep,
) -> Differences:
    """Compare tables with their indexes; exit with 1 if they differ."""
    since_ms = 0 if since is None else round(since.timestamp() * 1000)
    counts: Counter[Kind] = Counter()
    shown: list[DifferentDocument] = []
    documents = 0
    owed: list[tuple[Pair, list[Owed]]] = []
    for pair in pairs(deployment, source, target):
        sums = Sums()
        mine: list[Owed] = []
        for one in compared(comparison(deployment, pair, wait), sums):
            if one.changed_ms < since_ms:
                continue
            counts[one.kind] += 1
            if len(shown) < SHOWN_DIFFERENCES:
                shown.append(_shown(pair, one))
            mine.append(owed_for(one, pair))
        documents += sums.documents
        owed += [(pair, mine)] if mine else []
    found = Differences(documents=documents, counts=dict(counts), differences=tuple(shown))
    return _repair(deployment, found, owed, reason=reason, yes=yes) if repair and owed else found


def _repair(
    deployment: "Deployment",
    found: Differences,
    owed: Sequence[tuple[Pair, Sequence[Owed]]],
    *,
    reason: str | None,
    yes: bool,
) -> Differences:
    """Send the documents that differ again, after a question, and note it."""
    say(f"This changes {deployment.place}.")
    number = sum(len(documents) for _, documents in owed)
    doing = f"send {number:,} documents that differ again"

    def act() -> Differences:
        sent = sum(
            repair_all(part, pair, _owe(deployment))
            for pair, documents in owed
            for part in batches(documents, REPAIRED_AT_ONCE)
        )
        return found.model_copy(update={"sent": sent})

    proposal = Proposal(doing, number, act, (f"{doing.capitalize()}?",))
    done = carry_out(deployment, "verify --repair", proposal, reason=reason, dry_run=False, yes=yes)
    return done if isinstance(done, Differences) else found


def differences(
    deployment: "Deployment",
    *,
    source: str | None = None,
    target: str | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> list[str]:
    """Name every document whose entry is not what its item asks for."""
    return [
        f"{one.document_id}: {MEANINGS[one.kind]}"
        for pair in pairs(deployment, source, target)
        for one in compared(comparison(deployment, pair, wait), Sums())
    ]


def pairs(deployment: "Deployment", source: str | None, target: str | None) -> list[Pair]:
    """Return each source with each target that it feeds, as far as they are named."""
    origins = deployment.sources.values() if source is None else [deployment.source(source)]
    goals = deployment.targets if target is None else [deployment.target(target).name]
    found = [
        Pair(origin, deployment.targets[name])
        for origin in origins
        for name in origin.targets
        if name in goals
    ]
    if not found:
        raise UsageError(f"source {source} does not feed target {target}")
    return found


def comparison(
    deployment: "Deployment", pair: Pair, wait: Callable[[float], None] = time.sleep
) -> Compare:
    """Connect a table and its index."""
    from functions.adapters.dynamodb_table import DynamoDbTable
    from functions.adapters.opensearch_reader import OpenSearchReader

    index = OpenSearchReader(deployment.index, pair.target.index)

    def settle(seconds: float) -> None:
        say(f"what differs in {pair.name} is looked at again in {seconds:.0f} s")
        wait(seconds)
        # A busy index may refresh later than that.
        index.refresh()

    return Compare(
        table=DynamoDbTable(deployment.client("dynamodb")),
        index=index,
        ledger=deployment.ledger,
        wait=settle,
        pair=pair,
    )


def compared(compare: Compare, sums: Sums) -> Iterator[Difference]:
    """Fill the sums from the table, compare them with the index, and yield what differs."""
    # What was written a moment ago is compared too.
    compare.index.refresh()
    total = compare.table.count(compare.pair.source)
    for seen in progress(_sightings(compare), f"reading {compare.pair.name}", total):
        sums.add(seen, compare.pair)
    unequal = sums.unequal(compare.index.sums(compare.pair.source.name))
    suspects = iter(_suspects(compare, unequal) if unequal else ())
    while some := list(islice(suspects, ROUND_SUSPECTS)):
        yield from compare.confirmed(some)


def _suspects(compare: Compare, unequal: Collection[int]) -> Iterator[DocumentId]:
    for part in progress(_pages(compare), f"comparing {compare.pair.name}"):
        yield from compare.suspects_among_items(part, unequal)
    for buckets in batches(sorted(unequal), ROUND_BUCKETS):
        yield from _orphans(compare, buckets)


def _orphans(compare: Compare, buckets: Iterable[int]) -> Iterator[DocumentId]:
    last: str | None = None
    source = compare.pair.source.name
    wanted = set(buckets)
    while page := compare.index.page(source, after=last, most=PAGE_ENTRIES, buckets=wanted):
        yield from compare.suspects_among_entries(page)
        last = page[-1].document_id


def _pages(compare: Compare) -> Iterator[list[ScannedItem]]:
    last = None
    while True:
        page = compare.table.scan(
            compare.pair.source, segment=0, segments=1, after=last, most=PAGE_ITEMS
        )
        yield list(page.items)
        if page.last is None:
            return
        last = page.last


def _sightings(compare: Compare) -> Iterator[Sighting]:
    for page in _pages(compare):
        yield from compare.with_rows(page)


def _shown(pair: Pair, one: Difference) -> DifferentDocument:
    return DifferentDocument(
        source=pair.source.name, target=pair.target.name, document=one.document_id, kind=one.kind
    )


def _owe(deployment: "Deployment") -> Owe:
    return Owe(
        deployment.ledger,
        deployment.tasks,
        StderrTelemetry(),
        lambda: time.time_ns() // 1_000_000,
    )
