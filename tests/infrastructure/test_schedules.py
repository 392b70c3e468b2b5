"""Ticks: sweep and breaker run by the clock, and a tick that is late is not kept."""

import json
from typing import Any

import pytest

from tests.infrastructure.synthesized import Synthesized

RULE = "AWS::Events::Rule"


def ticks(synthesized: Synthesized, folder: str) -> dict[str, dict[str, str]]:
    """Return the rate of each tick of a function, by the event that it sends."""
    (function,) = synthesized.functions(folder)
    return {
        rule["ScheduleExpression"]: json.loads(target["Input"])
        for rule in synthesized.properties(RULE)
        for target in rule["Targets"]
        if target["Arn"] == f"{function}.Arn"
    }


def test_sweep_runs_each_minute_and_every_quarter_of_an_hour(synthesized: Synthesized) -> None:
    """R29: parked tasks each minute, maintenance every 15 minutes."""
    assert ticks(synthesized, "sweep") == {
        "rate(1 minute)": {"job": "due"},
        "rate(15 minutes)": {"job": "maintenance"},
    }


def test_breaker_runs_each_minute(synthesized: Synthesized) -> None:
    """R25: the mappings follow the control items."""
    assert ticks(synthesized, "breaker") == {"rate(1 minute)": {"job": "reconcile"}}


def test_backfill_looks_after_jobs_and_compares_a_slice_each_hour(synthesized: Synthesized) -> None:
    """R43 R56: lost segments every five minutes, the proof each hour."""
    assert ticks(synthesized, "backfill") == {
        "rate(5 minutes)": {"job": "jobs"},
        "rate(1 hour)": {"job": "proof"},
    }


@pytest.mark.parametrize(("folder", "runs"), [("sweep", 3), ("breaker", 1)])
def test_ticks_never_pile_up(synthesized: Synthesized, folder: str, runs: int) -> None:
    """R29: few runs at once, no retries by Lambda or EventBridge, nothing older than a minute."""
    ((name, function),) = synthesized.functions(folder).items()
    kept = [
        config
        for config in synthesized.properties("AWS::Lambda::EventInvokeConfig")
        if config["FunctionName"] == name
    ]
    policies = [
        target["RetryPolicy"] for rule in synthesized.properties(RULE) for target in rule["Targets"]
    ]

    once = {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}
    assert function["ReservedConcurrentExecutions"] == runs
    assert kept == [{"FunctionName": name, "Qualifier": "$LATEST", **once}]
    assert policies == [once] * len(policies)


def test_only_the_rule_itself_may_run_a_function(synthesized: Synthesized) -> None:
    """R84: EventBridge is let in for one rule at a time."""
    rules = synthesized.resources(RULE)
    permissions = synthesized.properties("AWS::Lambda::Permission")

    assert sorted(p["SourceArn"] for p in permissions) == sorted(f"{rule}.Arn" for rule in rules)
    assert {p["Principal"] for p in permissions} == {"events.amazonaws.com"}


def test_switch_stops_every_tick_of_a_stage(synthesize: Any) -> None:
    """R47: `enabled` is on every rule."""
    assert {rule["State"] for rule in synthesize("example").properties(RULE)} == {"DISABLED"}
    assert {rule["State"] for rule in synthesize("dev").properties(RULE)} == {"ENABLED"}
