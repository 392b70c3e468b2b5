"""The lanes of each target: what waits, what is in work, and whether anybody works."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

from functions.core.batches import batches
from functions.core.lane import lane_of
from functions.core.ledger_row import Group, Status
from functions.core.listing import MOST_READ, ROUND_ROWS
from functions.core.ports import Ledger, Listed
from infrastructure.names import pascal
from ops.breakers import stopped
from ops.frame import Noun
from ops.output import Answer, table

if TYPE_CHECKING:
    from functions.core.identity import RowKey
    from ops.deployment import Deployment

NOUN = Noun("State")


class LaneState(Answer):
    """One lane."""

    lane: str
    waiting: int
    in_flight: int  # messages that are in work, or hidden until their next attempt
    in_work: int  # documents that a run works on
    busy: int  # workers, at least: a run may have fewer documents than it could take
    workers: int  # at most
    mapping: str  # what Lambda calls the state of its event source mapping

    @property
    def idle(self) -> int:
        return self.workers - self.busy


class TargetLanes(Answer):
    """The lanes of one target."""

    target: str
    stopped: tuple[str, ...]
    lanes: tuple[LaneState, ...]
    dead_letters: int

    def view(self) -> Iterable[Any]:
        yield from (f"target {self.target} is stopped: {why}" for why in self.stopped)
        rows = [
            (one.lane, one.waiting, one.in_flight, one.in_work, one.busy, one.idle, one.mapping)
            for one in self.lanes
        ]
        yield table(
            ["lane", "waiting", "in flight", "in work", "workers busy", "idle", "mapping"],
            [*rows, ("dead letters", self.dead_letters)],
        )


class Lanes(Answer):
    """The lanes of all targets."""

    targets: tuple[TargetLanes, ...]

    def view(self) -> Iterable[Any]:
        for one in self.targets:
            yield f"target {one.target}"
            yield from one.view()


@NOUN.stack_command(examples=["lanes", "lanes --stage prod --json"])
def lanes(deployment: "Deployment") -> Lanes:
    """Show the messages and workers of each lane."""
    found = in_work(deployment)
    return Lanes(targets=tuple(lanes_of(deployment, name, found) for name in deployment.targets))


def in_work(deployment: "Deployment") -> Counter[tuple[str, str]]:
    """Count the documents that runs work on, by target and lane."""
    oldest = Oldest()
    for row in deployment.listed([Group.OPEN]):
        oldest.add(row)
    return oldest.in_work(deployment.ledger)


class Oldest:
    """The oldest open rows of each lane: the sparse index does not say which are in work."""

    def __init__(self) -> None:
        self._heaps: dict[tuple[str, str], list[tuple[int, RowKey]]] = {}

    def add(self, row: Listed) -> None:
        """Keep it, unless as many of its lane are older as are ever read."""
        heap = self._heaps.setdefault((row.target, str(row.lane)), [])
        heapq.heappush(heap, (-row.due_ms, row.row_key))
        if len(heap) > MOST_READ:
            heapq.heappop(heap)

    def in_work(self, ledger: Ledger) -> Counter[tuple[str, str]]:
        """Count those that a run works on, by target and lane."""
        keys = [key for heap in self._heaps.values() for _, key in heap]
        return Counter(
            (row.task.target, str(row.task.lane))
            for part in batches(keys, ROUND_ROWS)
            for row in ledger.read(part).values()
            if row.status is Status.PROCESSING
        )


def lanes_of(
    deployment: "Deployment", target: str, in_work: Mapping[tuple[str, str], int]
) -> TargetLanes:
    """Describe the lanes of one target; `in_work` counts documents by target and lane."""
    return TargetLanes(
        target=target,
        stopped=stopped(deployment, target),
        lanes=tuple(
            _lane(deployment, target, queue, in_work[target, str(lane_of(queue))])
            for queue in deployment.queues[target]
        ),
        dead_letters=deployment.count_dead_letters(target),
    )


def _lane(deployment: "Deployment", target: str, queue: str, in_work: int) -> LaneState:
    waiting, in_flight = deployment.depth(deployment.queues[target][queue])
    mapping = deployment.mapping(pascal("target", target, "lane", queue, "mapping-id"))
    workers = mapping.get("ScalingConfig", {}).get("MaximumConcurrency", 1)
    return LaneState(
        lane=queue,
        waiting=waiting,
        in_flight=in_flight,
        in_work=in_work,
        busy=min(workers, ceil(in_work / mapping["BatchSize"])),
        workers=workers,
        mapping=mapping["State"],
    )
