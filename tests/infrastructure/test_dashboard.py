"""The dashboard shows what the functions write, and the saved queries ask for what they log."""

import json
import re
from typing import Any

import pytest

from functions.core.metrics import METRICS, WHOLE
from infrastructure.monitoring.queries import QUERIES
from tests.infrastructure.synthesized import Synthesized
from tests.repo.checkout import texts

COLUMNS = 24


def widgets(synthesized: Synthesized) -> list[dict[str, Any]]:
    """Return the widgets of the one dashboard."""
    [board] = synthesized.properties("AWS::CloudWatch::Dashboard")
    found: list[dict[str, Any]] = json.loads(board["DashboardBody"])["widgets"]
    return found


def shown(synthesized: Synthesized) -> list[tuple[str, dict[str, str]]]:
    """Return the metrics of ours with their dimensions."""
    found = []
    for widget in widgets(synthesized):
        for line in widget["properties"].get("metrics", []):
            if line[0] == "embedq":
                rest = [part for part in line[2:] if isinstance(part, str)]
                found.append((line[1], dict(zip(rest[::2], rest[1::2], strict=True))))
    return found


def test_every_metric_that_is_shown_is_written(synthesized: Synthesized) -> None:
    """R62: by the function and with the dimensions that it has."""
    metrics = shown(synthesized)

    assert len(metrics) > 40
    for name, dimensions in metrics:
        more = tuple(key for key in dimensions if key not in WHOLE)
        assert sorted(more) in ([], sorted(METRICS[name].dimensions)), name
        assert dimensions["service"] in METRICS[name].services
        assert dimensions["stage"] == synthesized.stage


def test_alarms_are_on_top_and_each_question_has_its_panels(synthesized: Synthesized) -> None:
    """R62: healthy, waiting, failing, cost; nothing lies outside of the page."""
    first, *rest = widgets(synthesized)

    assert first["type"] == "alarm"
    alarms = synthesized.resources("AWS::CloudWatch::Alarm")
    assert len(first["properties"]["alarms"]) == len(alarms) + 1
    titles = [one["properties"]["markdown"] for one in rest if one["type"] == "text"]
    assert titles == [
        "## Is it healthy?",
        "## What waits?",
        "## What fails?",
        "## What does it cost?",
    ]
    assert all(one["x"] + one["width"] <= COLUMNS for one in rest)


def test_panels_of_retries_queues_and_cost_are_there(synthesized: Synthesized) -> None:
    """R62: depth, age, rates, failures, retries, freshness, tokens, breaker state."""
    names = {name for name, _ in shown(synthesized)}

    assert {
        "StuckDocuments",
        "TasksRequeued",
        "TasksExhausted",
        "TasksSkippedByBackoff",
        "SweepDurationMilliseconds",
        "FreshnessMilliseconds",
        "TokensPaid",
        "DollarsPaid",
        "BreakerOpen",
        "Failures",
        "Attempts",
        "RetrySuccessMilliseconds",
    } <= names


@pytest.mark.parametrize("name", QUERIES)
def test_saved_query_asks_for_fields_that_are_logged(name: str) -> None:
    """R63: this document, this cause, slowest, most expensive, what changed."""
    code = "\n".join(texts("functions/*.py").values())
    query = QUERIES[name]
    made = set(re.findall(r" as (\w+)", query))
    fields = set(re.findall(r"\b[a-z]+_[a-z_]+\b", re.sub(r'"[^"]*"', "", query))) - made

    # Powertools writes the last one, for each error with a stack.
    unknown = [one for one in fields if f'"{one}"' not in code and one != "exception_name"]
    assert unknown == []


def test_queries_see_the_logs_of_every_function(synthesized: Synthesized) -> None:
    """R63: in a folder of the stage."""
    saved = synthesized.properties("AWS::Logs::QueryDefinition")

    assert {one["Name"] for one in saved} == {f"embedq-{synthesized.stage}/{n}" for n in QUERIES}
    functions = synthesized.resources("AWS::Lambda::Function")
    assert all(len(one["LogGroupNames"]) == len(functions) for one in saved)
