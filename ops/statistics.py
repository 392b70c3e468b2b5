"""All documents of a stack: how many are in which state, how fast they go, and until when."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from functions.core.batches import batches
from functions.core.entry_shape import live, tombstones
from functions.core.failure import FailureError
from functions.core.identity import DocumentId, entry_id
from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from ops.frame import Noun
from ops.lanes import Oldest, TargetLanes, lanes_of
from ops.measured import Figures, NoFigures, measured
from ops.output import Answer, CommandError, moment, table, written

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("State")
LISTED = (Group.OPEN, Group.PARKED, Group.OVER_BUDGET, Group.HEALING, Group.FAILED)
OPEN = ("pending", "processing", "parked", "over_budget", "healing")
HOUR_MS = 3_600_000
# What OpenSearch takes in one question without effort.
ROUND_IDS = 1000
# What each line counts, in the order in which a document passes them.
LABELS = {
    "pending": "in a lane",
    "processing": "being worked on",
    "parked": "waiting for the next attempt",
    "over_budget": "waiting until the target may spend again: embedq budget",
    "healing": "failed for now, tried again on a schedule",
    "failed": "a person is needed: embedq dead list",
    "partial": "searchable without some chunks",
}


class LastHour(Answer):
    """What has ended in the last 60 minutes; a document counts once."""

    indexed: int
    deleted: int
    failed: int


class TargetStats(Answer):
    """The documents and messages of one target."""

    target: str
    searchable: int
    counts: dict[str, int]
    unique: int | None = None  # documents that the index or the ledger knows
    oldest_waiting: datetime | None = None
    last_hour: LastHour | None = None
    # Of all open documents, at the speed of the last hour; None while the target is stopped.
    done_by: datetime | None = None
    lanes: TargetLanes | None = None

    @property
    def open(self) -> int:
        """Count the documents that are not at an end."""
        return sum(self.counts[name] for name in OPEN)

    @property
    def percent(self) -> int:
        """Return the share that is at an end; what failed for good is, too."""
        ended = self.searchable + self.counts["failed"]
        return 100 * ended // (ended + self.open) if ended + self.open else 100

    def view(self) -> Iterable[Any]:
        yield f"target {self.target}: {self.percent} %, {self.open} open"
        yield from self._pace()
        states = [(name, self.counts[name], meaning) for name, meaning in LABELS.items()]
        rows = [("searchable", self.searchable, "in the index"), *states]
        if self.unique is not None:
            rows.append(("unique", self.unique, "each document once, in whatever state"))
        yield table(["state", "documents", "meaning"], rows)
        if self.lanes:
            yield ""
            yield from self.lanes.view()

    def _pace(self) -> Iterable[str]:
        if self.oldest_waiting:
            yield f"the oldest waits since {written(self.oldest_waiting)}"
        if self.last_hour:
            hour = self.last_hour
            yield (
                f"last hour: {hour.indexed} indexed, {hour.deleted} deleted or skipped,"
                f" {hour.failed} failed"
            )
        if self.done_by:
            yield f"at this speed all is done by {written(self.done_by)}"


class Stats(Answer):
    """The documents and messages of all targets, and what was measured of them together."""

    targets: tuple[TargetStats, ...]
    measured: Figures | NoFigures

    def view(self) -> Iterable[Any]:
        for one in self.targets:
            yield from one.view()
            yield ""
        yield from self.measured.view()


@dataclass
class Census:
    """The rows of one target, counted one by one: there may be a million of them."""

    counts: Counter[str] = field(default_factory=Counter)
    in_work: Counter[tuple[str, str]] = field(default_factory=Counter)  # by target and lane
    oldest_ms: int | None = None  # of those in a lane
    failed_since: int = 0

    def add(self, row: Listed, *, since_ms: int) -> None:
        """Count a row; `since_ms` begins the time in which failures are counted."""
        state = label(row)
        self.counts[state] += 1
        self.failed_since += state == "failed" and row.due_ms >= since_ms
        if row.group is Group.OPEN:
            self.oldest_ms = min(row.due_ms, self.oldest_ms or row.due_ms)

    def start(self, in_work: Counter[tuple[str, str]]) -> None:
        """Count as processing what is in work: it was counted as pending."""
        self.in_work = in_work
        started = min(in_work.total(), self.counts["pending"])
        self.counts["pending"] -= started
        self.counts["processing"] += started


@NOUN.stack_command(examples=["stats", "stats --stage prod --json"])
def stats(deployment: "Deployment") -> Stats:
    """Count documents by state and messages by lane, with speed, freshness and cost."""
    rows: dict[str, list[Listed]] = {name: [] for name in deployment.targets}
    counted = census(deployment, lambda row: rows[row.target].append(row))
    try:
        targets = tuple(
            target_stats(deployment, name, found, unique_of=rows[name])
            for name, found in counted.items()
        )
    except FailureError as error:
        others = (("health",), ("lanes",), ("breakers",), ("dead", "causes"))
        named = ", ".join(f"`{deployment.command(*words)}`" for words in others)
        raise CommandError(f"the index was not counted: {error}; {named} go without it") from error
    return Stats(targets=targets, measured=measured(deployment))


def census(
    deployment: "Deployment", keep: Callable[[Listed], None] = lambda _: None
) -> dict[str, Census]:
    """Count the rows of every target; each is passed to `keep` too."""
    found = {name: Census() for name in deployment.targets}
    oldest = {name: Oldest() for name in deployment.targets}
    since_ms = _now_ms() - HOUR_MS
    for row in deployment.listed(LISTED):
        found[row.target].add(row, since_ms=since_ms)
        if row.group is Group.OPEN:
            oldest[row.target].add(row)
        keep(row)
    for name, one in found.items():
        one.start(oldest[name].in_work(deployment.ledger))
    return found


def target_stats(
    deployment: "Deployment",
    name: str,
    found: Census,
    *,
    unique_of: Sequence[Listed] | None = None,
) -> TargetStats:
    """Add to the counted rows of a target what index and lanes know.

    The rows of `unique_of` are looked for in the index; None: unique documents are not counted.
    """
    now_ms = _now_ms()
    searchable = deployment.count_searchable(name)
    hour = LastHour(
        indexed=_count(deployment, name, live(since_ms=now_ms - HOUR_MS)),
        deleted=_count(deployment, name, tombstones(since_ms=now_ms - HOUR_MS)),
        failed=found.failed_since,
    )
    open_documents = sum(found.counts[state] for state in OPEN)
    lanes = lanes_of(deployment, name, found.in_work)
    ends = done_by(
        open_documents,
        hour.indexed + hour.deleted,
        datetime.now(UTC),
        is_stopped=bool(lanes.stopped),
    )
    unique = None
    if unique_of is not None:
        unique = searchable + _not_searchable(deployment, name, unique_of)
    return TargetStats(
        target=name,
        searchable=searchable,
        counts={state: found.counts.get(state, 0) for state in LABELS},
        unique=unique,
        oldest_waiting=None if found.oldest_ms is None else moment(min(found.oldest_ms, now_ms)),
        last_hour=hour,
        done_by=ends,
        lanes=lanes,
    )


def label(row: Listed) -> str:
    """Name the state that a row is counted in."""
    match row.group:
        case Group.OPEN:
            return str(row.status.listed)
        case Group.FAILED:
            return "partial" if row.status is Status.PARTIALLY_COMPLETED else "failed"
        case _:
            return str(row.group)


def done_by(
    open_documents: int, per_hour: int, now: datetime, *, is_stopped: bool = False
) -> datetime | None:
    """Say when the open documents are done at a speed; None if nobody can say."""
    if not open_documents or not per_hour or is_stopped:
        return None
    return now + timedelta(hours=min(open_documents / per_hour, 24 * 365))


def ended_since(deployment: "Deployment", target: str, since_ms: int) -> int:
    """Count the writes and deletes since then that a search sees already."""
    queries = (live(since_ms=since_ms), tombstones(since_ms=since_ms))
    return sum(_count(deployment, target, query) for query in queries)


def _count(deployment: "Deployment", target: str, query: dict[str, Any]) -> int:
    return int(deployment.ask_index(target, "_count", {"query": query})["count"])


def _not_searchable(deployment: "Deployment", target: str, rows: Sequence[Listed]) -> int:
    """Count the documents of these rows that no search finds: an earlier version may be found."""
    names = _names(deployment, rows)
    found = 0
    for part in batches(names, ROUND_IDS):
        query = live()
        query["bool"]["filter"].append({"ids": {"values": list(part)}})
        found += _count(deployment, target, query)
    return len(names) - found


def _names(deployment: "Deployment", rows: Sequence[Listed]) -> list[str]:
    """Name the entries of rows; long ids are hashed in their keys, and only the row has them."""
    long = [row.row_key for row in rows if row.document.startswith("#")]
    tasks = [row.task for row in deployment.ledger.read(long).values()]
    known = {(row.source, row.document) for row in rows if not row.document.startswith("#")}
    known |= {(task.source, task.document_id) for task in tasks}
    return [entry_id(source, DocumentId(name)) for source, name in known]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
