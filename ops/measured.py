"""What the functions' metrics say: from CloudWatch, or from what answers for it on one machine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from functions.core.names import METRICS_NAMESPACE
from infrastructure.names import errands_queue_name
from ops.output import Answer

if TYPE_CHECKING:
    from ops.deployment import Deployment

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
Points = list[tuple[datetime, float]]


@dataclass(frozen=True)
class Asked:
    """A metric as CloudWatch names it, and what is asked of each period."""

    metric: Mapping[str, Any]
    statistic: str = "Sum"
    period: timedelta = MINUTE


class Paid(Answer):
    """What providers were paid for in some time."""

    tokens: int
    usd: float | None  # None: of no model is the price known

    def words(self) -> str:
        price = "price not known" if self.usd is None else f"{self.usd:,.4f} USD"
        return f"{self.tokens:,} tokens, {price}" if self.tokens else "nothing"


class Figures(Answer):
    """How late all targets are from the write to the search, and what they cost."""

    p50_seconds: float | None  # None: no writes in the last hour
    p95_seconds: float | None
    last_hour: Paid
    today: Paid  # since midnight UTC

    def view(self) -> Iterable[str]:
        if self.p50_seconds is None or self.p95_seconds is None:
            yield "freshness: no writes in the last hour"
        else:
            yield (
                f"freshness, from the write to the search, in the last hour: p50"
                f" {self.p50_seconds:,.1f} s, p95 {self.p95_seconds:,.1f} s"
            )
        yield f"paid in the last hour: {self.last_hour.words()}; today: {self.today.words()}"


class NoFigures(Answer):
    """Nobody answers for the metrics, or they may not be read."""

    reason: str

    def view(self) -> Iterable[str]:
        yield f"freshness and cost are not known: {self.reason}"


def measured(deployment: "Deployment", now: datetime | None = None) -> Figures | NoFigures:
    """Ask for freshness and cost; a person without the right to ask still sees the rest."""
    now = now or datetime.now(UTC)
    # Whole minutes, as metrics have: the one that runs is the last of the hour.
    until = now.replace(second=0, microsecond=0) + MINUTE
    hour, midnight = until - HOUR, now.replace(hour=0, minute=0, second=0, microsecond=0)
    freshness = own_metric(deployment, "FreshnessMilliseconds")
    shares = {name: Asked(freshness, name, HOUR) for name in ("p50", "p95")}
    costs = {name: Asked(own_metric(deployment, name)) for name in ("TokensPaid", "DollarsPaid")}
    try:
        late = points(deployment, shares, since=hour, until=until)
        paid = points(deployment, costs, since=min(hour, midnight), until=until)
    except (ClientError, BotoCoreError) as error:
        return NoFigures(reason=str(error))
    return Figures(
        p50_seconds=_newest_seconds(late["p50"]),
        p95_seconds=_newest_seconds(late["p95"]),
        last_hour=_paid(paid, hour),
        today=_paid(paid, midnight),
    )


def own_metric(deployment: "Deployment", name: str, service: str = "embed") -> dict[str, Any]:
    """Name a metric that a function of the stack writes, as a whole."""
    # The stage as the functions know it: the stack may have another name.
    before, after = errands_queue_name("/").split("/")
    queue = deployment.outputs["ErrandsQueueUrl"].rpartition("/")[2]
    stage = queue.removeprefix(before).removesuffix(after)
    dimensions = {"service": service, "stage": stage}
    return {
        "Namespace": METRICS_NAMESPACE,
        "MetricName": name,
        "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()],
    }


def points(
    deployment: "Deployment", asked: Mapping[str, Asked], *, since: datetime, until: datetime
) -> dict[str, Points]:
    """Return the values of each period that has any, by the beginning of the period."""
    names = list(asked)
    queries = [
        {
            "Id": f"m{number}",
            "MetricStat": {
                "Metric": asked[name].metric,
                "Period": round(asked[name].period.total_seconds()),
                "Stat": asked[name].statistic,
            },
        }
        for number, name in enumerate(names)
    ]
    client = deployment.client("cloudwatch")
    pages = client.get_paginator("get_metric_data").paginate(
        StartTime=since, EndTime=until, MetricDataQueries=queries
    )
    found: dict[str, Points] = {name: [] for name in names}
    for page in pages:
        for one in page["MetricDataResults"]:
            pairs = zip(one["Timestamps"], one["Values"], strict=True)
            found[names[int(one["Id"][1:])]].extend(pairs)
    return found


def _newest_seconds(found: Points) -> float | None:
    return max(found)[1] / 1000 if found else None


def _paid(found: Mapping[str, Points], since: datetime) -> Paid:
    tokens, usd = (
        [value for at, value in found[name] if at >= since]
        for name in ("TokensPaid", "DollarsPaid")
    )
    return Paid(tokens=round(sum(tokens)), usd=sum(usd) if usd or not tokens else None)
