"""Every metric that the functions write: its unit, its meaning and its dimensions.

Each has the dimensions `service` (the function) and `stage`. Those with more are written twice: as
a whole, and by these dimensions, whose values are few.
"""

from dataclasses import dataclass, field
from enum import StrEnum

# What each metric has, in this order.
WHOLE = ("service", "stage")


class Unit(StrEnum):
    """The units of CloudWatch that are used here."""

    COUNT = "Count"
    MILLISECONDS = "Milliseconds"
    SECONDS = "Seconds"
    PERCENT = "Percent"
    NONE = "None"


class Kind(StrEnum):
    """How the values of one run make up a metric."""

    COUNTER = "counter"  # added up; nothing is written about zero
    GAUGE = "gauge"  # as it stands, also zero
    DISTRIBUTION = "distribution"  # each value, for percentiles


@dataclass(frozen=True)
class Metric:
    """One metric, by whom it is written and by what it can be told apart."""

    meaning: str
    services: tuple[str, ...]
    unit: Unit = Unit.COUNT
    kind: Kind = Kind.COUNTER
    dimensions: tuple[str, ...] = ()  # beside service and stage
    # A gauge of parts whose whole is counted apart: the largest part is not the whole.
    parts_are_apart: bool = field(default=False)


_GAUGE, _SPREAD = Kind.GAUGE, Kind.DISTRIBUTION
_EMBED, _SWEEP, _BACKFILL, _BREAKER = ("embed",), ("sweep",), ("backfill",), ("breaker",)
# The sweep replays changes with the step of enqueue.
_ENQUEUE = ("enqueue", "sweep")

METRICS: dict[str, Metric] = {
    # Of enqueue:
    "RecordsReceived": Metric("records of a stream that were received", ("enqueue",)),
    "ChangesAccepted": Metric("changes that became a task", _ENQUEUE),
    "ChangesRepeated": Metric("changes that were delivered again", _ENQUEUE),
    "ChangesStale": Metric("changes that are older than the ledger row", _ENQUEUE),
    "ChangesUnchanged": Metric("writes that changed neither text nor metadata", _ENQUEUE),
    "ChangesCoalesced": Metric("changes that a later one of the same batch replaced", _ENQUEUE),
    "ChangesRejected": Metric("records without a valid document key", _ENQUEUE),
    "TasksNotSent": Metric(
        "tasks that SQS did not take; the sweep sends them", ("enqueue", "sweep", "backfill")
    ),
    # Of embed, about tasks:
    "MessagesReceived": Metric("messages that runs received", _EMBED),
    "MessagesMalformed": Metric("messages that embedq did not send", _EMBED),
    "TasksCompleted": Metric("documents indexed whole", _EMBED),
    "TasksPartiallyCompleted": Metric("documents indexed without some chunks", _EMBED),
    "TasksDeleted": Metric("documents deleted from the index", _EMBED),
    "TasksSkipped": Metric("documents without a text, or with the skip flag", _EMBED),
    "TasksSuperseded": Metric("tasks that a newer version replaced", _EMBED),
    "TasksRetried": Metric("failed attempts whose message is delivered again", _EMBED),
    "TasksParked": Metric("failed attempts after which the ledger keeps the task", _EMBED),
    "TasksHealing": Metric("documents without attempts left that are tried again", _EMBED),
    "TasksGivenUp": Metric("documents that were given up: dead letters", _EMBED),
    "TasksHandedBack": Metric("tasks that a run had no time for", _EMBED),
    "TasksEnded": Metric(
        "documents that came to an end: indexed, deleted, skipped or given up",
        _EMBED,
        dimensions=("target",),
    ),
    "Attempts": Metric(
        "attempts of each document that succeeded, the last one included", _EMBED, kind=_SPREAD
    ),
    "FreshnessMilliseconds": Metric(
        "from the write to the entry that a search finds, for each document",
        _EMBED,
        Unit.MILLISECONDS,
        _SPREAD,
        ("lane", "source"),
    ),
    # Of embed, about failures:
    "TasksFailed": Metric("failed attempts that counted", _EMBED),
    "RetriesSucceeded": Metric("documents that succeeded after a failed attempt", _EMBED),
    "RetriesFailed": Metric("failed attempts of documents that had failed before", _EMBED),
    "RetrySuccessMilliseconds": Metric(
        "from the first failure of a document to its success",
        _EMBED,
        Unit.MILLISECONDS,
        _SPREAD,
    ),
    "Failures": Metric(
        "failures of all kinds, those of free retries included", _EMBED, dimensions=("kind",)
    ),
    "BulkFailures": Metric("causes that failed five documents of one run or more", _EMBED),
    "ProviderThrottled": Metric("requests that the provider throttled", _EMBED),
    "GuardWaitMilliseconds": Metric(
        "how long a run waited for a cooldown or its share of a limit",
        _EMBED,
        Unit.MILLISECONDS,
        _SPREAD,
    ),
    # Of embed, about cost:
    "ProviderRequests": Metric("requests to the provider", _EMBED),
    "TokensPaid": Metric("tokens that were paid for", _EMBED, dimensions=("lane", "model")),
    "DollarsPaid": Metric(
        "their price in dollars, where it is known",
        _EMBED,
        Unit.NONE,
        dimensions=("lane", "model"),
    ),
    "ChunksPaid": Metric("chunks that were paid for", _EMBED),
    "ChunksReused": Metric("chunks whose vector was known", _EMBED),
    "BudgetRefusals": Metric("runs that met the end of a budget", _EMBED),
    # Of the breaker:
    "BreakerOpen": Metric(
        "1 while a breaker is open or paused", _BREAKER, kind=_GAUGE, dimensions=("target",)
    ),
    "BreakerOpened": Metric("breakers that opened", ("embed", "breaker")),
    "BreakerTransitions": Metric("breakers that changed their state", ("embed", "breaker")),
    "ProbesPassed": Metric("probes that succeeded", _BREAKER),
    "ProbesFailed": Metric("probes that failed", _BREAKER),
    "MappingsSwitched": Metric("lanes that were paused or enabled", _BREAKER),
    "ReconcileFailures": Metric("lanes that could not be looked at or switched", _BREAKER),
    "ControlUnreadable": Metric(
        "control items that could not be read or written",
        ("enqueue", "embed", "sweep", "breaker"),
    ),
    # Of the sweep, each minute:
    "SweepRuns": Metric("runs that began", _SWEEP),
    "SweepJobsFailed": Metric("jobs that failed", _SWEEP),
    "SweepDurationMilliseconds": Metric("how long a run took", _SWEEP, Unit.MILLISECONDS, _SPREAD),
    "TasksRequeued": Metric("documents that were sent again", _SWEEP),
    "TasksExhausted": Metric("stuck documents that ran out of attempts", _SWEEP),
    "ChangesReplayed": Metric("failed changes that were brought in after all", _SWEEP),
    "TombstonesPurged": Metric("old tombstones that were removed", _SWEEP),
    "LostIndexes": Metric("1 for an index that is gone or is another one", _SWEEP, kind=_GAUGE),
    "BudgetUsedPercent": Metric(
        "how much of a budget is used", _SWEEP, Unit.PERCENT, _GAUGE, ("target",)
    ),
    # Of the sweep, each 15 minutes:
    "ParkedDocuments": Metric("documents that wait in the ledger", _SWEEP, kind=_GAUGE),
    "OverBudgetDocuments": Metric("documents that wait for a budget", _SWEEP, kind=_GAUGE),
    "HealingDocuments": Metric("documents that are healing", _SWEEP, kind=_GAUGE),
    "FailedDocuments": Metric(
        "documents that were given up and need a person",
        _SWEEP,
        kind=_GAUGE,
        dimensions=("source",),
        parts_are_apart=True,
    ),
    "StuckDocuments": Metric(
        "documents without news for `stuck_hours`",
        _SWEEP,
        kind=_GAUGE,
        dimensions=("source",),
        parts_are_apart=True,
    ),
    "OldestFailedSeconds": Metric(
        "how long ago the oldest of the failed documents was given up",
        _SWEEP,
        Unit.SECONDS,
        _GAUGE,
    ),
    "OldestStuckSeconds": Metric(
        "how long the oldest of the stuck documents has been without news",
        _SWEEP,
        Unit.SECONDS,
        _GAUGE,
    ),
    "TasksSkippedByBackoff": Metric(
        "parked and healing documents that are not due yet", _SWEEP, kind=_GAUGE
    ),
    # Of backfill:
    "DocumentsBackfilled": Metric("documents that a backfill has sent", _BACKFILL),
    "SegmentsFailed": Metric("pages of a backfill that could not be sent", _BACKFILL),
    "JobsFailed": Metric("backfills that need a person", _BACKFILL),
    "Drifted": Metric(
        "documents whose entries are not what their items ask for", _BACKFILL, kind=_GAUGE
    ),
    "DocumentsRepaired": Metric("documents that were sent again for it", _BACKFILL),
    "OldestVerifiedSeconds": Metric(
        "how long ago the first of the documents was compared with its table",
        _BACKFILL,
        Unit.SECONDS,
        _GAUGE,
    ),
}


class UnknownMetricError(ValueError):
    """Code counts what METRICS does not name, or with other dimensions."""


def named(name: str, dimensions: tuple[str, ...] = ()) -> Metric:
    """Return what is written down about a metric; raise where it is not."""
    metric = METRICS.get(name)
    if metric is None or dimensions not in ((), metric.dimensions):
        by = f" by {', '.join(dimensions)}" if dimensions else ""
        raise UnknownMetricError(f"{name}{by} is not in functions/core/metrics.py")
    return metric
