"""Alarms as they are in a template, over metrics that come and go."""

from typing import Any

from local.watch.alarms import read_alarms
from local.watch.evaluator import Evaluator
from local.watch.rules import State
from local.watch.store import MINUTE_MS, MetricId, MetricStore

START_MS = 1_700_000_040_000 - 1_700_000_040_000 % MINUTE_MS
ERRORS = MetricId.of("AWS/Lambda", "Errors", FunctionName="f")


def resources(**changes: Any) -> dict[str, Any]:
    """Return a template with an alarm on errors, and one on that alarm."""
    alarm = {
        "Namespace": "AWS/Lambda",
        "MetricName": "Errors",
        "Dimensions": [{"Name": "FunctionName", "Value": "f"}],
        "Statistic": "Sum",
        "Period": 300,
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "notBreaching",
    }
    return {
        "Down": {
            "Type": "AWS::CloudWatch::CompositeAlarm",
            "Properties": {"AlarmRule": '(ALARM("Failing") AND NOT OK("Other"))'},
        },
        "Failing": {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm | changes},
        "Table": {"Type": "AWS::DynamoDB::Table", "Properties": {}},
    }


def test_alarm_begins_with_its_fault_and_ends_when_it_is_out_of_sight() -> None:
    """R61: at the end of each minute, over the minutes of its period; a composite follows."""
    store = MetricStore()
    evaluator = Evaluator(store, read_alarms(resources()))
    seen: list[tuple[int, str, str]] = []
    for minute in range(20):
        if minute == 2:
            store.put(ERRORS, [1.0], at_ms=START_MS + minute * MINUTE_MS)
        for one in evaluator.look(START_MS + (minute + 1) * MINUTE_MS):
            seen.append((minute, one.alarm.name, one.state))

    assert seen == [
        (0, "Failing", "OK"),
        (0, "Down", "OK"),
        (2, "Failing", "ALARM"),
        (2, "Down", "ALARM"),
        # Two more periods are looked at for a value before a missing one counts.
        (17, "Failing", "OK"),
        (17, "Down", "OK"),
    ]


def test_standing_says_since_when_and_why() -> None:
    """R61: the numbers that were compared."""
    store = MetricStore()
    evaluator = Evaluator(store, read_alarms(resources()))
    store.put(ERRORS, [2.0], at_ms=START_MS)
    for minute in (1, 2):
        evaluator.look(START_MS + minute * MINUTE_MS)

    standing = evaluator.standings()["Failing"]

    assert (standing.state, standing.since_ms) == (State.ALARM, START_MS + MINUTE_MS)
    assert standing.reason == "GreaterThanThreshold 0, the oldest first: none, none, 2"


def test_expression_over_metrics_is_compared() -> None:
    """R61: the returned query decides; the others only feed it."""
    metric = {"Namespace": "n", "MetricName": "m"}
    queries = [
        {
            "Id": "m1",
            "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"},
            "ReturnData": False,
        },
        {"Id": "e1", "Expression": "FILL(m1, 0) * 2"},
    ]
    changes = {"Metrics": queries, "Threshold": 3}
    store = MetricStore()
    evaluator = Evaluator(store, read_alarms(resources(**changes)))
    store.put(MetricId.of("n", "m"), [2.0], at_ms=START_MS)

    evaluator.look(START_MS + MINUTE_MS)

    assert evaluator.standings()["Failing"].state is State.ALARM
