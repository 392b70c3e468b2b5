"""What is watched, as data: each watch becomes an alarm."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from functions.core.names import METRICS_NAMESPACE

PERIOD = Duration.minutes(5)
# The sweep counts documents every 15 minutes: each half hour holds a count for sure.
HALF_AN_HOUR = Duration.minutes(30)
HOUR = Duration.hours(1)


class Missing(Enum):
    """What a period without data means, and why."""

    QUIET = (
        cloudwatch.TreatMissingData.NOT_BREACHING,
        "who has nothing to do reports nothing: no data, no trouble",
    )
    SILENT = (
        cloudwatch.TreatMissingData.BREACHING,
        "each run reports it: no data, no run",
    )
    KEPT = (
        cloudwatch.TreatMissingData.IGNORE,
        "a domain reports each minute, and a gap says nothing about it: the state stays",
    )

    @property
    def treatment(self) -> cloudwatch.TreatMissingData:
        return self.value[0]

    @property
    def reason(self) -> str:
        return self.value[1]


@dataclass(frozen=True)
class Watch:
    """One number that should not be above, or below, another one."""

    id: str
    page: str  # of the runbook
    metric: cloudwatch.IMetric
    description: str
    is_critical: bool = False
    above: float | None = None
    below: float | None = None
    periods: int = 1
    bad_periods: int | None = None  # None: all of them
    missing: Missing = Missing.QUIET
    stops_embedding: bool = False  # part of the alarm that embedding is down


def own_metric(
    name: str,
    *,
    service: str,
    stage: str,
    statistic: str = "Sum",
    period: Duration = PERIOD,
    dimensions: Mapping[str, str] | None = None,
) -> cloudwatch.Metric:
    """Return a metric that a function writes."""
    return cloudwatch.Metric(
        namespace=METRICS_NAMESPACE,
        metric_name=name,
        # As the functions write them: the function's folder, and the stage.
        dimensions_map={"service": service, "stage": stage, **(dimensions or {})},
        period=period,
        statistic=statistic,
    )
