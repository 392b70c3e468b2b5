"""The sparse index -> how many documents wait, fail, heal and are stuck, as metrics."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from functions.core.ledger_row import Group
from functions.core.listing import still_due
from functions.core.ports import Clock, Ledger, Listed, Telemetry
from functions.sweep.ports import SecondsLeft

GAUGES = {
    Group.PARKED: "ParkedDocuments",
    Group.OVER_BUDGET: "OverBudgetDocuments",
    Group.HEALING: "HealingDocuments",
    Group.FAILED: "FailedDocuments",
}
# Also counted by source, and with the age of the oldest.
AGES = {"FailedDocuments": "OldestFailedSeconds", "StuckDocuments": "OldestStuckSeconds"}


@dataclass(frozen=True)
class Census:
    """The job that counts."""

    ledger: Ledger
    telemetry: Telemetry
    clock: Clock
    stuck_hours: float
    deployed: Collection[tuple[str, str]]  # each target with each of its sources
    name: str = "census"

    def run(self, seconds_left: SecondsLeft) -> None:
        """Count the rows of each group; counts that time cut off are not published."""
        counted = Counted(now_ms=self.clock())
        stuck_ms = counted.now_ms - round(self.stuck_hours * 3_600_000)
        for group in (Group.OPEN, *GAUGES):
            for listed in self._listed(group, stuck_ms):
                if seconds_left() <= 0:
                    self.telemetry.event("census_cut_off", group=str(group))
                    return
                # What was removed from cdk.json needs no person until it is forgotten.
                if listed.is_fed(self.deployed):
                    counted.add(listed, group, stuck_ms=stuck_ms)
        self._publish(counted)

    def _listed(self, group: Group, stuck_ms: int) -> Iterator[Listed]:
        """List a group; of the open rows only what is stuck, and none that is in work."""
        if group is not Group.OPEN:
            return self.ledger.listed([group])
        open_rows = self.ledger.listed([group], due_ms=stuck_ms)
        return still_due(self.ledger, open_rows, due_ms=stuck_ms)

    def _publish(self, counted: "Counted") -> None:
        count = self.telemetry.count
        for metric in (*GAUGES.values(), "StuckDocuments", "TasksSkippedByBackoff"):
            count(metric, counted.documents[metric])
        for metric, age in AGES.items():
            count(age, counted.age_seconds(metric))
            for source in sorted({source for _, source in self.deployed}):
                count(metric, counted.by_source[metric, source], source=source)


@dataclass(frozen=True)
class Counted:
    """What was counted until now."""

    now_ms: int
    documents: Counter[str] = field(default_factory=Counter)
    by_source: Counter[tuple[str, str]] = field(default_factory=Counter)
    oldest_ms: dict[str, int] = field(default_factory=dict)

    def add(self, listed: Listed, group: Group, *, stuck_ms: int) -> None:
        """Count a row."""
        for metric in metrics_of(listed, group, now_ms=self.now_ms, stuck_ms=stuck_ms):
            self.documents[metric] += 1
            self.by_source[metric, listed.source] += 1
            self.oldest_ms[metric] = min(self.oldest_ms.get(metric, self.now_ms), listed.due_ms)

    def age_seconds(self, metric: str) -> float:
        """Return how old the oldest row of a metric is; 0 if there is none."""
        return (self.now_ms - self.oldest_ms.get(metric, self.now_ms)) / 1000


def metrics_of(listed: Listed, group: Group, *, now_ms: int, stuck_ms: int) -> Iterator[str]:
    """Name the metrics that count a row."""
    # The group of those that a person is to look at holds partly completed ones too.
    if group in GAUGES and (group is not Group.FAILED or listed.status.is_failed):
        yield GAUGES[group]
    if group in (Group.OPEN, Group.PARKED) and listed.due_ms <= stuck_ms:
        yield "StuckDocuments"
    if group in (Group.PARKED, Group.HEALING) and listed.due_ms > now_ms:
        yield "TasksSkippedByBackoff"
