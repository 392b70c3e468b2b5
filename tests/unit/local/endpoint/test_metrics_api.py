"""Metrics and alarms are answered as CloudWatch answers, from what is measured here."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.endpoint import AwsEndpoint
from local.watch.alarms import read_alarms
from local.watch.evaluator import Evaluator
from local.watch.store import MetricId, MetricStore

Clients = Callable[[str], Any]
START = datetime(2026, 11, 17, 2, 0, tzinfo=UTC)
END = START + timedelta(minutes=10)
FAILED = MetricId.of("embedq", "TasksFailed", service="embed")
ALARM = {
    "Type": "AWS::CloudWatch::Alarm",
    "Properties": {
        "AlarmDescription": "tasks fail",
        "Namespace": "embedq",
        "MetricName": "TasksFailed",
        "Dimensions": [{"Name": "service", "Value": "embed"}],
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 5,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "notBreaching",
    },
}
BOTH = {"Type": "AWS::CloudWatch::CompositeAlarm", "Properties": {"AlarmRule": "ALARM(Failing)"}}


class Watched:
    """Some minutes that were measured, and two alarms over them."""

    def __init__(self) -> None:
        self.store = MetricStore()
        for minute, values in ((1, [1, 2]), (3, [7])):
            self.store.put(FAILED, values, at_ms=_ms(START + timedelta(minutes=minute)))
        self.store.put(MetricId.of("AWS/SQS", "Visible", QueueName="a"), [1], at_ms=_ms(START))
        self.evaluator = Evaluator(
            self.store, read_alarms({"Failing": ALARM, "Any": BOTH, "Other": _higher()})
        )
        self.evaluator.look(_ms(START + timedelta(minutes=4)))


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _higher() -> dict[str, Any]:
    return {**ALARM, "Properties": {**ALARM["Properties"], "Threshold": 100}}  # type: ignore[dict-item]


@pytest.fixture
def cloudwatch(endpoint: AwsEndpoint, client: Clients) -> Any:
    """Return a client of an endpoint that has metrics."""
    endpoint.serve_metrics(Watched())
    return client("cloudwatch")


def test_alarms_have_their_state(cloudwatch: Any) -> None:
    """R61 R82: as the template names them, with the numbers that made it."""
    found = cloudwatch.describe_alarms()

    states = {one["AlarmName"]: one["StateValue"] for one in found["MetricAlarms"]}
    assert states == {"Failing": "ALARM", "Other": "OK"}
    [failing] = cloudwatch.describe_alarms(AlarmNames=["Failing"])["MetricAlarms"]
    assert failing["AlarmDescription"] == "tasks fail"
    assert "none, 7" in failing["StateReason"]
    assert failing["StateUpdatedTimestamp"] == START + timedelta(minutes=4)
    # At home nobody is told.
    assert failing["ActionsEnabled"] is False
    [both] = cloudwatch.describe_alarms(AlarmNamePrefix="An")["CompositeAlarms"]
    assert (both["StateValue"], both["AlarmRule"]) == ("ALARM", "ALARM(Failing)")
    assert [
        one["AlarmName"] for one in cloudwatch.describe_alarms(StateValue="OK")["MetricAlarms"]
    ] == ["Other"]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["Visible", "TasksFailed"]),
        ({"Namespace": "embedq"}, ["TasksFailed"]),
        ({"MetricName": "Visible"}, ["Visible"]),
        ({"Dimensions": [{"Name": "service"}]}, ["TasksFailed"]),
        ({"Dimensions": [{"Name": "service", "Value": "sweep"}]}, []),
    ],
)
def test_metrics_are_listed(cloudwatch: Any, asked: dict[str, Any], names: list[str]) -> None:
    """R60 R82: those that were written, by what is asked for."""
    found = cloudwatch.list_metrics(**asked)["Metrics"]

    assert [one["MetricName"] for one in found] == names


def test_values_are_read_by_period(cloudwatch: Any) -> None:
    """R60 R82: `get-metric-data`, the newest first; a period without a value is left out."""
    metric = {
        "Namespace": "embedq",
        "MetricName": "TasksFailed",
        "Dimensions": [{"Name": "service", "Value": "embed"}],
    }

    [found] = cloudwatch.get_metric_data(
        StartTime=START,
        EndTime=END,
        MetricDataQueries=[
            {"Id": "m", "MetricStat": {"Metric": metric, "Period": 120, "Stat": "Sum"}}
        ],
    )["MetricDataResults"]

    assert found["Values"] == [7, 3]
    assert found["Timestamps"] == [START + timedelta(minutes=2), START]
    points = cloudwatch.get_metric_statistics(
        **metric,
        StartTime=START,
        EndTime=END,
        Period=600,
        Statistics=["Sum", "SampleCount"],
    )["Datapoints"]
    assert [(one["Sum"], one["SampleCount"]) for one in points] == [(10, 3)]


def test_what_cannot_be_read_is_refused(cloudwatch: Any) -> None:
    """R82: instead of an answer that is empty."""
    times = {"StartTime": START, "EndTime": END}
    with pytest.raises(ClientError, match="expressions are evaluated in alarms only"):
        cloudwatch.get_metric_data(MetricDataQueries=[{"Id": "e", "Expression": "m * 2"}], **times)
    with pytest.raises(ClientError, match="of whole minutes"):
        cloudwatch.get_metric_statistics(
            Namespace="embedq", MetricName="TasksFailed", Period=10, Statistics=["Sum"], **times
        )
    with pytest.raises(ClientError, match="CloudWatch answers describe-alarms"):
        cloudwatch.delete_alarms(AlarmNames=["Failing"])
