"""Freshness and cost from the metrics of a stage."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from functions.core.names import METRICS_NAMESPACE
from ops import measured as module
from ops.deployment import Deployment
from ops.measured import Figures, NoFigures, Paid, measured
from ops.output import as_text

NOW = datetime(2026, 11, 17, 0, 20, 30, tzinfo=UTC)


@pytest.fixture
def prod(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        session = boto3.Session(region_name="us-east-1")
        outputs = {"ErrandsQueueUrl": "https://sqs/1/embedq-prod-errands"}
        yield Deployment(outputs, session, stage="prod")


def put(prod: Deployment, metric: str, value: float, at: datetime) -> None:
    dimensions = [{"Name": "service", "Value": "embed"}, {"Name": "stage", "Value": "prod"}]
    data = {"MetricName": metric, "Value": value, "Timestamp": at, "Dimensions": dimensions}
    prod.client("cloudwatch").put_metric_data(Namespace=METRICS_NAMESPACE, MetricData=[data])


def test_cost_is_summed_over_the_last_hour_and_the_day(prod: Deployment) -> None:
    """R60: the last hour may begin yesterday; what no model has a price for is said."""
    put(prod, "TokensPaid", 7, NOW)
    put(prod, "TokensPaid", 100, NOW - timedelta(minutes=30))
    put(prod, "TokensPaid", 1000, NOW - timedelta(minutes=61))

    found = measured(prod, NOW)

    assert isinstance(found, Figures)
    assert found.last_hour == Paid(tokens=107, usd=None)
    assert found.today == Paid(tokens=7, usd=None)
    assert as_text(found).splitlines() == [
        "freshness: no writes in the last hour",
        "paid in the last hour: 107 tokens, price not known; today: 7 tokens, price not known",
    ]


def test_freshness_is_said_with_half_and_nearly_all() -> None:
    """R60: in seconds, from the write to the search."""
    none = Paid(tokens=0, usd=0)
    found = Figures(
        p50_seconds=1.24, p95_seconds=9, last_hour=none, today=Paid(tokens=10**6, usd=0.02)
    )

    assert as_text(found).splitlines() == [
        "freshness, from the write to the search, in the last hour: p50 1.2 s, p95 9.0 s",
        "paid in the last hour: nothing; today: 1,000,000 tokens, 0.0200 USD",
    ]


def test_metrics_that_may_not_be_read_hide_nothing_else(
    prod: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R40: the other numbers are shown all the same, and this one says why it is missing."""

    def denied(*_: object, **__: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied"}}, "GetMetricData")

    monkeypatch.setattr(module, "points", denied)

    found = measured(prod, NOW)

    assert isinstance(found, NoFigures)
    assert "freshness and cost are not known: An error occurred (AccessDenied)" in as_text(found)
