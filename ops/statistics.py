"""All documents of a stack: how many are in which state, how fast they go, and until when."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from functions.core.batches import batches
from functions.core.entry_shape import live, tombstones
from functions.core.identity import DocumentId, entry_id
from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from ops.frame import Noun
from ops.lanes import TargetLanes, lanes_of
from ops.output import Answer, moment, table, written

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
    done_by: datetime | None = None  # of all open documents, at the speed of the last hour
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
                f"last hour: {hour.indexed} indexed, {hour.deleted} deleted, {hour.failed} failed"
            )
        if self.done_by:
            yield f"at this speed all is done by {written(self.done_by)}"


class Stats(Answer):
    """The documents and messages of all targets."""

    targets: tuple[TargetStats, ...]

    def view(self) -> Iterable[Any]:
        for one in self.targets:
            yield from one.view()


@NOUN.stack_command(examples=["stats", "stats --stage prod --json"])
def stats(deployment: "Deployment") -> Stats:
    """Count documents by state and messages by lane, with the speed of the last hour."""
    rows: dict[str, list[Listed]] = {name: [] for name in deployment.targets}
    for row in deployment.listed(LISTED):
        rows[row.target].append(row)
    now_ms = time.time_ns() // 1_000_000
    return Stats(targets=tuple(_target(deployment, *item, now_ms) for item in rows.items()))


def label(row: Listed) -> str:
    """Name the state that a row is counted in."""
    match row.group:
        case Group.OPEN:
            return str(row.status)
        case Group.FAILED:
            return "partial" if row.status is Status.PARTIALLY_COMPLETED else "failed"
        case _:
            return str(row.group)


def done_by(open_documents: int, per_hour: int, now: datetime) -> datetime | None:
    """Say when the open documents are done at a speed; None if nobody can say."""
    if not open_documents or not per_hour:
        return None
    return now + timedelta(hours=min(open_documents / per_hour, 24 * 365))


def _target(
    deployment: "Deployment", name: str, rows: Sequence[Listed], now_ms: int
) -> TargetStats:
    counts = Counter(map(label, rows))
    in_work = Counter((row.target, str(row.lane)) for row in rows if label(row) == "processing")
    waiting = [row.due_ms for row in rows if row.group is Group.OPEN]
    searchable = deployment.count_searchable(name)
    hour = _last_hour(deployment, name, rows, now_ms)
    open_documents = sum(counts[state] for state in OPEN)
    return TargetStats(
        target=name,
        searchable=searchable,
        counts={state: counts.get(state, 0) for state in LABELS},
        unique=searchable + _not_searchable(deployment, name, rows),
        oldest_waiting=moment(min(*waiting, now_ms)) if waiting else None,
        last_hour=hour,
        done_by=done_by(open_documents, hour.indexed + hour.deleted, datetime.now(UTC)),
        lanes=lanes_of(deployment, name, in_work),
    )


def _last_hour(
    deployment: "Deployment", target: str, rows: Iterable[Listed], now_ms: int
) -> LastHour:
    since = now_ms - HOUR_MS

    def count(query: dict[str, Any]) -> int:
        return int(deployment.ask_index(target, "_count", {"query": query})["count"])

    return LastHour(
        indexed=count(live(since_ms=since)),
        deleted=count(tombstones(since_ms=since)),
        failed=sum(label(row) == "failed" and row.due_ms >= since for row in rows),
    )


def _not_searchable(deployment: "Deployment", target: str, rows: Sequence[Listed]) -> int:
    """Count the documents of these rows that no search finds: an earlier version may be found."""
    names = _names(deployment, rows)
    found = 0
    for part in batches(names, ROUND_IDS):
        query = live()
        query["bool"]["filter"].append({"ids": {"values": list(part)}})
        found += int(deployment.ask_index(target, "_count", {"query": query})["count"])
    return len(names) - found


def _names(deployment: "Deployment", rows: Sequence[Listed]) -> list[str]:
    """Name the entries of rows; long ids are hashed in their keys, and only the row has them."""
    long = [row.row_key for row in rows if row.document.startswith("#")]
    tasks = [row.task for row in deployment.ledger.read(long).values()]
    known = {(row.source, row.document) for row in rows if not row.document.startswith("#")}
    known |= {(task.source, task.document_id) for task in tasks}
    return [entry_id(source, DocumentId(name)) for source, name in known]
