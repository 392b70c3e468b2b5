"""What a simulated load went through, and what became of its documents."""

from collections import Counter
from dataclasses import dataclass, field

from ops.plan.answers import Simulated
from ops.plan.workload import Workload

HOUR = 3600


@dataclass(frozen=True)
class Faults:
    """What goes wrong, and when: seconds after the start of the load."""

    throttled: tuple[int, int] = (1 * HOUR, 2 * HOUR)
    throttled_share: float = 0.25  # of the provider's limit that is left
    outage: tuple[int, int] = (3 * HOUR, 4 * HOUR)
    shaky: tuple[int, int] = (4 * HOUR, 4 * HOUR + 1800)  # many requests fail, but not most
    shaky_share: float = 0.3
    slow_share: float = 0.001  # of all documents, at each attempt
    rejected_share: float = 0.00001

    @property
    def end(self) -> int:
        return max(self.throttled[1], self.outage[1], self.shaky[1])


@dataclass(frozen=True)
class Moment:
    """What one step left behind."""

    seconds: int
    waiting: float  # in the live lanes
    bulk: float  # in the bulk lane
    to_load: float  # in the table
    parked: float
    healing: float
    freshness: float  # p95 of the live writes that were completed in it
    is_open: bool  # the breaker


@dataclass
class Story:
    """All steps of a load, and what became of its documents."""

    workload: Workload
    faults: Faults
    moments: list[Moment] = field(default_factory=list)
    freshness: Counter[int] = field(default_factory=Counter)  # live documents by their seconds
    completed: float = 0.0
    failed: float = 0.0
    healed: float = 0.0
    opened: int = 0

    def summary(self, picture: str | None) -> "Simulated":
        """Return the figures of the story."""
        backlogs = [m.waiting + m.bulk + m.parked + m.healing for m in self.moments]
        return Simulated(
            documents=self.workload.documents,
            hours=self.moments[-1].seconds / HOUR,
            to_load=round(self.moments[-1].to_load),
            completed=round(self.completed),
            failed=round(self.failed),
            largest_backlog=round(max(backlogs)),
            freshness_p50_seconds=percentile(self.freshness, 50),
            freshness_p95_seconds=percentile(self.freshness, 95),
            freshness_most_seconds=percentile(self.freshness, 100),
            breaker_opened=self.opened,
            healed=round(self.healed),
            picture=picture,
        )


def percentile(counts: "Counter[int]", percent: float) -> float:
    """Return the seconds that so many percent of the counted documents took at most."""
    left = counts.total() * percent / 100
    for seconds, number in sorted(counts.items()):
        left -= number
        if left <= 1e-6:
            return float(seconds)
    return float(max(counts, default=0))
