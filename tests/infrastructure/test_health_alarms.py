"""Alarms on metrics that the functions write: the names and dimensions are those they write."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from functions.adapters.emf import FunctionMetrics
from functions.adapters.telemetry import PowertoolsTelemetry, make_logger
from functions.core.names import METRICS_NAMESPACE
from scripts.import_walk import walk, words
from tests.infrastructure.synthesized import ROOT, Synthesized

PROOF = {("backfill", "Drifted"), ("backfill", "OldestVerifiedSeconds")}
HEALTH = PROOF | {
    ("backfill", "JobsFailed"),
    ("breaker", "BreakerOpen"),
    ("breaker", "ControlUnreadable"),
    ("embed", "ControlUnreadable"),
    ("embed", "FreshnessMilliseconds"),
    ("embed", "TasksCompleted"),
    ("embed", "TasksFailed"),
    ("embed", "TasksGivenUp"),
    ("enqueue", "ControlUnreadable"),
    ("embed", "TasksEnded"),
    ("sweep", "BudgetUsedPercent"),
    ("sweep", "ControlUnreadable"),
    ("sweep", "FailedDocuments"),
    ("sweep", "LostIndexes"),
    ("sweep", "OldestFailedSeconds"),
    ("sweep", "OldestStuckSeconds"),
    ("sweep", "StuckDocuments"),
    ("sweep", "TasksExhausted"),
}


@dataclass(frozen=True)
class Watched:
    """A metric of ours that an alarm looks at."""

    name: str
    dimensions: dict[str, str]
    alarm: dict[str, Any]


def watched(synthesized: Synthesized) -> list[Watched]:
    """Return the metrics of our namespace, of plain alarms and of those with an expression."""
    found = []
    for alarm in synthesized.properties("AWS::CloudWatch::Alarm"):
        inner = [m["MetricStat"]["Metric"] for m in alarm.get("Metrics", []) if "MetricStat" in m]
        for metric in inner or [alarm]:
            if metric["Namespace"] == METRICS_NAMESPACE:
                dimensions = {d["Name"]: d["Value"] for d in metric["Dimensions"]}
                found.append(Watched(metric["MetricName"], dimensions, alarm))
    return found


def only(synthesized: Synthesized, metric: str) -> dict[str, Any]:
    """Return the one alarm that looks at a metric of ours."""
    found = {w.alarm["AlarmDescription"]: w.alarm for w in watched(synthesized) if w.name == metric}
    (alarm,) = found.values()
    return alarm


def expression(alarm: dict[str, Any]) -> str:
    """Return the expression of an alarm."""
    (found,) = [metric["Expression"] for metric in alarm["Metrics"] if "Expression" in metric]
    return str(found)


def test_every_health_metric_is_watched(synthesized: Synthesized) -> None:
    """R61: breaker, stuck, exhausted, retried, and control items that cannot be read."""
    # The stage `private` has switched the proof off.
    expected = HEALTH - PROOF if synthesized.stage == "private" else HEALTH
    assert {(w.dimensions["service"], w.name) for w in watched(synthesized)} == expected


@pytest.mark.parametrize(("service", "metric"), sorted(HEALTH))
def test_watched_metric_is_one_that_the_function_writes(service: str, metric: str) -> None:
    """R61: an alarm on a name that no function writes would be silent for ever."""
    own = walk(ROOT / "functions" / service / "handler.py", ROOT).own

    assert metric in set().union(*(words(ROOT / file) for file in own))


def test_dimensions_are_those_that_the_functions_write(
    synthesized: Synthesized, capsys: pytest.CaptureFixture[str]
) -> None:
    """R61: CloudWatch takes a metric with other dimensions for another metric."""
    for one in watched(synthesized):
        service = one.dimensions["service"]
        metrics = FunctionMetrics(service)
        metrics.stage = synthesized.stage
        more: dict[str, Any] = {
            k: v for k, v in one.dimensions.items() if k not in ("service", "stage")
        }
        PowertoolsTelemetry(make_logger(service), metrics).count(one.name, **more)
        metrics.flush()

        written = json.loads(capsys.readouterr().out)
        (directive,) = written["_aws"]["CloudWatchMetrics"]
        names = directive["Dimensions"][-1]
        assert directive["Namespace"] == METRICS_NAMESPACE
        assert {name: written[name] for name in names} == one.dimensions


def test_an_open_breaker_alarms_at_once(synthesized: Synthesized) -> None:
    """R25, R61: one of many targets is enough."""
    alarm = only(synthesized, "BreakerOpen")

    assert (alarm["Statistic"], alarm["Threshold"], alarm["EvaluationPeriods"]) == ("Maximum", 0, 1)


def test_a_lost_index_alarms_at_once(synthesized: Synthesized) -> None:
    """R61: one of many targets is enough; a replaced index is seen once only."""
    alarm = only(synthesized, "LostIndexes")

    assert (alarm["Statistic"], alarm["Threshold"], alarm["EvaluationPeriods"]) == ("Maximum", 0, 1)


def test_stuck_documents_alarm_after_an_hour(synthesized: Synthesized) -> None:
    """R61: more than 50 for 1 h: warning; more than 200: critical."""
    found = [
        one.alarm
        for one in watched(synthesized)
        if one.name == "StuckDocuments" and one.alarm["Statistic"] == "Maximum"
    ]

    assert sorted(alarm["Threshold"] for alarm in found) == [50, 200]
    assert {alarm["Period"] * alarm["EvaluationPeriods"] for alarm in found} == {3600}


def test_documents_that_ran_out_of_retries_alarm_by_the_hour(synthesized: Synthesized) -> None:
    """R61: more than 10 per h, whether embed or sweep gave them up."""
    alarm = only(synthesized, "TasksExhausted")

    assert alarm["Threshold"] == 10
    assert expression(alarm) == "FILL(exhausted, 0) + FILL(given_up, 0)"
    assert {m["MetricStat"]["Period"] for m in alarm["Metrics"] if "MetricStat" in m} == {3600}


def test_retry_rate_alarms_in_percent_of_attempts(synthesized: Synthesized) -> None:
    """R61: more than 10 %, once there are enough tasks for a rate."""
    alarm = only(synthesized, "TasksFailed")
    failed, completed = "FILL(tasks_failed, 0)", "FILL(tasks_completed, 0)"
    tasks = f"{failed} + {completed}"

    assert alarm["Threshold"] == 10
    assert expression(alarm) == f"IF({tasks} >= 20, 100 * {failed} / ({tasks}), 0)"


def test_late_documents_alarm_after_a_quarter_of_an_hour(synthesized: Synthesized) -> None:
    """R61: one in twenty later than 15 minutes, for 15 minutes."""
    alarm = only(synthesized, "FreshnessMilliseconds")

    assert (alarm["ExtendedStatistic"], alarm["Threshold"]) == ("p95", 15 * 60 * 1000)
    assert alarm["Period"] * alarm["EvaluationPeriods"] == 15 * 60


def test_budget_warns_at_80_percent_and_alarms_when_it_is_used_up(synthesized: Synthesized) -> None:
    """R19 R61: the fullest of all targets; each names the command that shows and raises it."""
    alarms = [w.alarm for w in watched(synthesized) if w.name == "BudgetUsedPercent"]

    assert sorted(alarm["Threshold"] for alarm in alarms) == [79, 99]
    for alarm in alarms:
        assert alarm["Statistic"] == "Maximum"
        assert "embedq budget raise" in alarm["AlarmDescription"]
    warning, critical = sorted(alarms, key=lambda alarm: float(alarm["Threshold"]))
    assert warning["AlarmActions"] != critical["AlarmActions"]


def test_proof_that_is_late_or_finds_drift_is_an_alarm(synthesize: Any) -> None:
    """R56: at once for drift, two days after the days that were asked for."""
    stage = synthesize("dev")

    assert only(stage, "Drifted")["Threshold"] == 0
    found = [w.alarm for w in watched(stage) if w.name == "OldestVerifiedSeconds"]
    late, silent = sorted(found, key=lambda alarm: -float(alarm["Threshold"]))
    assert (late["Threshold"], late["TreatMissingData"]) == (9 * 86_400, "notBreaching")
    assert (silent["Threshold"], silent["TreatMissingData"]) == (1, "breaching")


def test_proof_that_is_switched_off_has_no_alarm(synthesize: Any) -> None:
    """R56: verify.days 0; a backfill that fails still has one."""
    names = {one.name for one in watched(synthesize("private"))}

    assert "JobsFailed" in names
    assert not names & {"Drifted", "OldestVerifiedSeconds"}
