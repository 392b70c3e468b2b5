"""Logs and metrics as CloudWatch reads them: one JSON line each, and nothing that was not given."""

import io
import json
import re
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from functions.adapters.emf import FunctionMetrics
from functions.adapters.telemetry import (
    ERRORS,
    WARNINGS,
    PowertoolsTelemetry,
)
from tests.builders import make_task
from tests.repo.checkout import ROOT

OWN_FIELDS = {"level", "location", "message", "timestamp", "service"}


@pytest.fixture
def lines() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def telemetry(lines: io.StringIO) -> PowertoolsTelemetry:
    logger = Logger(service="embed", level="INFO", stream=lines, logger_handler=None)
    logger.handlers[0].setStream(lines)  # type: ignore[attr-defined]
    return PowertoolsTelemetry(logger, FunctionMetrics("embed"))


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


PAGE = (ROOT / "docs" / "operations.md").read_text()
# The list of what an operator reads, each message with its level.
LEVELS = {
    name: level
    for level, names in re.findall(r"^- ([A-Z]+), [^:]+: (.+)\.$", PAGE, re.MULTILINE)
    for name in re.findall(r"`([a-z_]+)`", names)
}


@pytest.mark.parametrize(("name", "level"), sorted(LEVELS.items()))
def test_level_says_who_should_look(
    telemetry: PowertoolsTelemetry, lines: io.StringIO, name: str, level: str
) -> None:
    """R63: errors need a person, warnings are tried again; as docs/operations.md tells them."""
    telemetry.event(name)

    assert [line["level"] for line in read(lines)] == [level]


def test_no_other_message_has_a_level_of_its_own() -> None:
    """R63: who filters by level in CloudWatch knows what is left out."""
    assert LEVELS.keys() == WARNINGS | ERRORS


def test_failed_attempt_is_ordinary_work(
    telemetry: PowertoolsTelemetry, lines: io.StringIO
) -> None:
    """R63: it is tried again, and no reason to wake a person."""
    telemetry.event("task_failed")

    assert [line["level"] for line in read(lines)] == ["INFO"]


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
