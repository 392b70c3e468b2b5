"""Alarms that begin and end again and again are not read: each has what keeps it from that."""

from typing import Any

from functions.core.metrics import METRICS, Kind
from functions.core.names import METRICS_NAMESPACE
from tests.infrastructure.synthesized import Synthesized

# What AWS reports as it stands, until somebody or something changes it.
STATES = {
    "ApproximateNumberOfMessagesVisible": "a dead letter stays until it is redriven or removed",
    "ClusterIndexWritesBlocked": "reported each minute, for as long as writes are blocked",
    "FreeStorageSpace": "reported each minute; it changes slowly, and growth is not noise",
    "IteratorAge": "the age of a record rises until it is taken, and then is far below the limit",
}
# Counters of what never happens in a stack that is well: each one is for a person to look at.
EVENTS = {
    "Drifted": "a document that nobody can explain; each hour finds it again until it is mended",
    "Errors": "functions catch what they expect: a defect, a timeout or too little memory",
    "JobsFailed": "a backfill fails once, after hours of attempts, and waits for a person",
    "OnFailureDestinationDeliveredEventCount": "changes are set aside once, after all retries",
    "Throttles": "mappings ask for no more concurrency than is reserved: it is the account",
}
HOUR_SECONDS = 3600


def why_steady(alarm: dict[str, Any]) -> str:
    """Say what keeps an alarm from flapping; empty: nothing does."""
    inner = [one["MetricStat"] for one in alarm.get("Metrics", []) if "MetricStat" in one]
    metrics = [one["Metric"] for one in inner] or [alarm]
    periods = [one["Period"] for one in inner] or [alarm["Period"]]
    if alarm["DatapointsToAlarm"] > 1:
        return "several datapoints"
    if min(periods) >= HOUR_SECONDS:
        return "a datapoint of an hour"
    if all(map(_is_state, metrics)):
        return "a state, reported as it stands"
    return "; ".join(filter(None, (EVENTS.get(one["MetricName"]) for one in metrics)))


def _is_state(metric: dict[str, Any]) -> bool:
    name = metric["MetricName"]
    if metric["Namespace"] == METRICS_NAMESPACE:
        return METRICS[name].kind is Kind.GAUGE
    return name in STATES


def test_no_alarm_flaps(synthesized: Synthesized) -> None:
    """R61: several datapoints, a long one, a state, or an event that needs a person."""
    found = synthesized.properties("AWS::CloudWatch::Alarm")

    assert [one["AlarmDescription"] for one in found if not why_steady(one)] == []


def test_one_datapoint_of_a_counter_is_no_reason(synthesized: Synthesized) -> None:
    """R61: the rate of failed attempts and the freshness would flap with one datapoint each."""
    noisy = [
        {**one, "DatapointsToAlarm": 1}
        for one in synthesized.properties("AWS::CloudWatch::Alarm")
        if "/failed-attempts." in one["AlarmDescription"]
        or "/late-documents." in one["AlarmDescription"]
    ]

    assert [why_steady(one) for one in noisy] == ["", ""]


def test_every_reason_is_one_of_an_alarm(synthesize: Any) -> None:
    """R61: the tables name no metric that is not watched."""
    alarms = synthesize("dev").properties("AWS::CloudWatch::Alarm")

    assert {*STATES, *EVENTS} <= {one.get("MetricName") for one in alarms}
