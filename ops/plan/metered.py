"""A plan beside what was metered: by the functions' own metrics, at home and in AWS alike.

At home they are read from the functions' logs, in AWS from CloudWatch, which makes them of the
same lines. What was sent by backfills is in their jobs, also if a run was killed before it could
write its metrics. Units of DynamoDB are metered by AWS alone.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from functions.adapters.log_times import parsed, time_of
from ops.measured import Asked, own_metric, points
from ops.output import UsageError
from ops.plan.answers import Checked, CheckedFigure, Plan
from ops.plan.units import BULK, LIVE

if TYPE_CHECKING:
    from ops.deployment import Deployment

# The metrics that make up the figures, with the function that counts each.
TOKENS, CHUNKS = "TokensPaid", "ChunksPaid"
RECEIVED = "RecordsReceived"
SERVICES = {TOKENS: "embed", CHUNKS: "embed", RECEIVED: "enqueue"}
# CloudWatch has a figure some minutes after its time.
LATE = timedelta(minutes=5)


def checked(deployment: "Deployment", path: Path) -> Checked:
    """Compare a plan with what was metered since it was made."""
    try:
        plan = Plan.model_validate_json(path.read_text())
    except (ValidationError, UnicodeDecodeError) as error:
        message = f"{path} is no plan: make one with `embedq plan --json > {path}`"
        raise UsageError(message) from error
    if len(deployment.targets) > 1:
        raise UsageError("metrics are of all targets together: a plan of one cannot be checked")
    sums = in_aws(deployment, plan.made) if deployment.stage else at_home(plan.made)
    units = write_units(deployment, plan.made) if deployment.stage else None
    return compared(plan, sums, load_since(deployment, plan.made), units=units)


@dataclass(frozen=True)
class Load:
    """What backfills came to since a time."""

    documents: int
    seconds: float | None  # None: none of them has ended


def compared(
    plan: Plan,
    sums: Counter[str],
    load: Load,
    *,
    units: float | None = None,
) -> Checked:
    """Put each figure of a plan beside its metered one.

    How many documents the application wrote is no matter of the plan: each counts as planned.
    """
    live = sums[RECEIVED]
    documents = plan.documents + live
    [provider] = [one for one in plan.dollars if one.part == "provider"]
    price = provider.load / plan.tokens if plan.tokens else 0.0
    tokens = documents * plan.tokens_of_one
    figures: list[tuple[str, float, float | None]] = [
        ("documents of the load", plan.documents, load.documents),
        ("tokens", tokens, sums[TOKENS]),
        ("chunks", documents * plan.chunks_of_one, sums[CHUNKS]),
        ("USD of the provider", tokens * price, sums[TOKENS] * price),
        (
            "write units of the ledger",
            plan.documents * BULK.write_units + live * LIVE.write_units,
            units,
        ),
    ]
    # How long it takes is known before only where a configured limit decides it.
    if plan.is_bound_by_settings and plan.seconds is not None:
        figures.append(("seconds", plan.seconds, load.seconds))
    return Checked(
        since=plan.made,
        live_writes=round(live),
        figures=tuple(
            CheckedFigure(figure=name, planned=planned, metered=metered)
            for name, planned, metered in figures
        ),
    )


def at_home(since: datetime) -> Counter[str]:
    """Sum the metrics in the logs of the functions on this machine."""
    from ops.local_logs import log_lines

    lines = (one.line for one in log_lines() if one.is_metrics)
    return summed(lines, since)


def summed(lines: Iterator[str], since: datetime) -> Counter[str]:
    """Sum the metrics of lines in CloudWatch's embedded metric format."""
    sums: Counter[str] = Counter()
    for line in lines:
        found = parsed(line)
        at = time_of(found)
        # A run that is killed may leave half a line.
        if at is None or at < since:
            continue
        for name, service in SERVICES.items():
            if found.get("service") == service:
                value = found.get(name, 0)
                sums[name] += sum(value) if isinstance(value, list) else value
    return sums


def in_aws(deployment: "Deployment", since: datetime) -> Counter[str]:
    """Sum the metrics of a stage in CloudWatch."""
    asked = {name: own_metric(deployment, name, service) for name, service in SERVICES.items()}
    return Counter(_sums(deployment, asked, since))


def write_units(deployment: "Deployment", since: datetime) -> float:
    """Return the write units that the ledger's table and its index took."""
    table = {"Name": "TableName", "Value": deployment.outputs["LedgerTable"]}
    metric = {"Namespace": "AWS/DynamoDB", "MetricName": "ConsumedWriteCapacityUnits"}
    index = {"Name": "GlobalSecondaryIndexName", "Value": "open"}
    asked = {
        "table": {**metric, "Dimensions": [table]},
        "index": {**metric, "Dimensions": [table, index]},
    }
    return sum(_sums(deployment, asked, since).values())


def _sums(
    deployment: "Deployment", metrics: dict[str, dict[str, Any]], since: datetime
) -> dict[str, float]:
    asked = {name: Asked(metric) for name, metric in metrics.items()}
    found = points(deployment, asked, since=since, until=datetime.now(UTC) + LATE)
    return {name: sum(value for _, value in pairs) for name, pairs in found.items()}


def load_since(deployment: "Deployment", since: datetime) -> Load:
    """Return what the backfills came to that were started since then."""
    from ops.jobs import list_jobs

    found = [one for one in list_jobs(deployment).jobs if one.started >= since]
    ends = [one.ended for one in found if one.ended]
    seconds = (max(ends) - min(one.started for one in found)).total_seconds() if ends else None
    return Load(sum(one.sent for one in found), seconds)
