"""Logs and metrics as CloudWatch reads them: one JSON line each, and nothing that was not given."""

import io
import json
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from functions.adapters.telemetry import (
    ERRORS,
    WARNINGS,
    FunctionMetrics,
    PowertoolsTelemetry,
    make_metrics,
)
from tests.builders import make_task

OWN_FIELDS = {"level", "location", "message", "timestamp", "service"}


@pytest.fixture
def lines() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def metrics() -> FunctionMetrics:
    return make_metrics("embed")


@pytest.fixture
def telemetry(lines: io.StringIO, metrics: FunctionMetrics) -> PowertoolsTelemetry:
    logger = Logger(service="embed", level="INFO", stream=lines, logger_handler=None)
    logger.handlers[0].setStream(lines)  # type: ignore[attr-defined]
    return PowertoolsTelemetry(logger, metrics)


def read(lines: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def test_event_is_one_line_with_its_fields_and_no_others(
    telemetry: PowertoolsTelemetry, lines: io.StringIO
) -> None:
    """R63: ids and numbers of a step, to be found by any of them."""
    fields = make_task(trace_id="Root=1").log_fields()

    telemetry.event("task_completed", **fields, attempt=2)

    [line] = read(lines)
    assert {name: line[name] for name in set(line) - OWN_FIELDS} == {
        "target": "default",
        "source": "articles",
        "document_id": "a",
        "version": make_task().version,
        "lane": "normal",
        "trace_id": "Root=1",
        "attempt": 2,
    }
    assert (line["message"], line["service"], line["level"]) == ("task_completed", "embed", "INFO")


LEVELS = {
    # What a person has to look at.
    "ERROR": [
        "breaker_opened",
        "index_lost",
        "job_failed",
        "sweep_job_failed",
        "task_exhausted",
        "task_given_up",
    ],
    # What is tried again by itself, or was kept out.
    "WARNING": [
        "announcement_failed",
        "batch_failed",
        "breaker_paused",
        "budget_nearly_used",
        "budget_refused",
        "census_cut_off",
        "change_rejected",
        "changes_not_replayed",
        "control_unreadable",
        "cooldown_started",
        "document_drifted",
        "failure_bulk",
        "failure_isolated",
        "index_not_seen",
        "ledger_failed",
        "message_malformed",
        "message_not_hidden",
        "probe_failed",
        "probe_not_sent",
        "reconcile_failed",
        "requeue_held_back",
        "round_failed",
        "segment_failed",
        "segment_silent",
        "stash_failed",
        "task_not_sent",
    ],
    # A single failed attempt is ordinary work.
    "INFO": [
        "breaker_closed",
        "change_accepted",
        "task_completed",
        "task_failed",
        "task_healing",
        "task_parked",
        "task_superseded",
    ],
}


@pytest.mark.parametrize(
    ("level", "name"), [(level, name) for level, names in LEVELS.items() for name in names]
)
def test_level_says_who_should_look(
    telemetry: PowertoolsTelemetry, lines: io.StringIO, level: str, name: str
) -> None:
    """R63: warnings for what is tried again, errors for what needs a person."""
    telemetry.event(name)

    assert [line["level"] for line in read(lines)] == [level]


def test_no_other_name_has_a_level_of_its_own() -> None:
    """R63: a new warning or error is added above, on purpose."""
    assert (sorted(WARNINGS), sorted(ERRORS)) == (LEVELS["WARNING"], LEVELS["ERROR"])


def test_awkward_ids_stay_in_one_line(telemetry: PowertoolsTelemetry, lines: io.StringIO) -> None:
    """R02: a document id may hold anything."""
    name = 'a\n{"level": "ERROR"}\x00\u2028👩‍👩‍👧'

    telemetry.event("task_completed", document_id=name)

    [text] = lines.getvalue().split("\n")[:-1]
    assert json.loads(text)["document_id"] == name


def test_unexpected_error_has_its_stack(telemetry: PowertoolsTelemetry, lines: io.StringIO) -> None:
    """R22: nobody has foreseen it, so that the line must be enough to find it."""
    try:
        raise LookupError("nobody knows")
    except LookupError as error:
        telemetry.unexpected(error)

    [line] = read(lines)
    assert (line["level"], line["message"]) == ("ERROR", "unexpected_error")
    assert line["exception_name"] == "LookupError"
    assert "test_telemetry.py" in line["exception"]


def test_metrics_add_up_with_their_units(
    telemetry: PowertoolsTelemetry, metrics: FunctionMetrics
) -> None:
    """R60: the name's last word is the unit; nothing is said about zero."""
    telemetry.count("TasksCompleted")
    telemetry.count("TasksCompleted", 2)
    telemetry.count("FreshnessMilliseconds", 0)
    telemetry.count("TasksFailed", 0)

    document: Any = metrics.serialize_metric_set()

    [described] = document["_aws"]["CloudWatchMetrics"]
    assert {(one["Name"], one["Unit"]) for one in described["Metrics"]} == {
        ("TasksCompleted", "Count"),
        ("FreshnessMilliseconds", "Milliseconds"),
    }
    assert document["TasksCompleted"] == [1.0, 2.0]
    assert described["Dimensions"] == [["service"]]


def test_functions_of_one_process_share_no_metrics(
    telemetry: PowertoolsTelemetry, metrics: FunctionMetrics
) -> None:
    """R60: neither what they count, nor their dimensions."""
    other = make_metrics("sweep")
    other.set_default_dimensions(stage="test")
    telemetry.count("TasksCompleted")

    assert (other.metric_set, metrics.default_dimensions) == ({}, {})


@pytest.mark.parametrize("counted", [0, 100])
def test_run_that_has_nothing_left_to_publish_is_silent(
    metrics: FunctionMetrics, capsys: pytest.CaptureFixture[str], counted: int
) -> None:
    """R60 R63: a probe counts nothing, and the hundredth value is published at once."""

    @metrics.log_metrics
    def handler(_event: object, _context: object) -> None:
        for _ in range(counted):
            metrics.add_metric(name="TasksCompleted", unit="Count", value=1)

    handler({}, None)

    assert len(capsys.readouterr().out.splitlines()) == bool(counted)
