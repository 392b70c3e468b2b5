"""All documents of a stack: how many are in which state."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from ops.frame import Noun
from ops.output import Answer, table

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("State")
LISTED = (Group.OPEN, Group.PARKED, Group.OVER_BUDGET, Group.HEALING, Group.FAILED)
OPEN = ("pending", "processing", "parked", "over_budget", "healing")
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


class LaneDepth(Answer):
    """The messages of one lane."""

    lane: str
    waiting: int
    in_flight: int


class TargetStats(Answer):
    """The documents and messages of one target."""

    target: str
    searchable: int
    counts: dict[str, int]
    lanes: tuple[LaneDepth, ...] = ()
    dead_letters: int = 0

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
        states = [(name, self.counts[name], meaning) for name, meaning in LABELS.items()]
        rows = [("searchable", self.searchable, "in the index"), *states]
        yield table(["state", "documents", "meaning"], rows)
        yield ""
        lanes = [(one.lane, one.waiting, one.in_flight) for one in self.lanes]
        yield table(["lane", "waiting", "in flight"], [*lanes, ("dead letters", self.dead_letters)])


class Stats(Answer):
    """The documents and messages of all targets."""

    targets: tuple[TargetStats, ...]

    def view(self) -> Iterable[Any]:
        for one in self.targets:
            yield from one.view()


@NOUN.stack_command(examples=["stats", "stats --stage prod --json"])
def stats(deployment: "Deployment") -> Stats:
    """Count documents by state and messages by lane."""
    by_target: dict[str, Counter[str]] = {name: Counter() for name in deployment.targets}
    for row in deployment.listed(LISTED):
        by_target[row.target][label(row)] += 1
    return Stats(targets=tuple(_target(deployment, *item) for item in by_target.items()))


def label(row: Listed) -> str:
    """Name the state that a row is counted in."""
    match row.group:
        case Group.OPEN:
            return str(row.status)
        case Group.FAILED:
            return "partial" if row.status is Status.PARTIALLY_COMPLETED else "failed"
        case _:
            return str(row.group)


def _target(deployment: "Deployment", name: str, counts: Mapping[str, int]) -> TargetStats:
    depths = {lane: deployment.depth(url) for lane, url in deployment.queues[name].items()}
    return TargetStats(
        target=name,
        searchable=deployment.count_searchable(name),
        counts={state: counts.get(state, 0) for state in LABELS},
        lanes=tuple(
            LaneDepth(lane=lane, waiting=waiting, in_flight=in_flight)
            for lane, (waiting, in_flight) in depths.items()
        ),
        dead_letters=deployment.count_dead_letters(name),
    )
