"""A document's life from ledger and logs."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from functions.core.failure import FailureKind
from functions.core.ledger_row import ErrorRecord, Status
from ops.deployment import Deployment
from ops.local_logs import log_lines
from ops.output import as_text
from ops.timeline import Timeline, TimelineEntry, of_line, of_row, timeline
from tests.builders import NOW_MS, make_row

LINE = {
    "level": "INFO",
    "message": "task_started",
    "timestamp": "2026-11-17 02:05:43,329+0000",
    "service": "embed",
    "target": "default",
    "source": "articles",
    "document_id": "a",
    "version": 7,
    "trace_id": "Root=1",
}


def test_ledger_tells_writes_attempts_errors_and_outcome() -> None:
    """R28 R40: each with its time."""
    row = make_row(
        status=Status.FAILED,
        attempts=2,
        last_attempt_ms=NOW_MS + 2,
        failed_ms=NOW_MS + 4,
        reason="too large",
        errors=(ErrorRecord(NOW_MS + 3, FailureKind.INVALID_INPUT, "too large"),),
    )

    found = {one.what: (one.where, one.at.microsecond // 1000) for one in of_row(row)}

    assert found == {
        "written": ("table", 0),
        "first seen": ("ledger", 0),
        "queued": ("ledger", 0),
        "last attempt": ("ledger", 2),
        "error": ("ledger", 3),
        "failed": ("ledger", 4),
    }


def test_what_happened_several_times_in_a_row_is_one_line() -> None:
    """R40: a dead letter is received until SQS moves it; the JSON has each time."""
    at = datetime(2026, 11, 17, 2, 5, 43, tzinfo=UTC)
    dead = [
        TimelineEntry(
            at=at + timedelta(seconds=n), where="embed", what="task_dead", details={"v": 7}
        )
        for n in range(9)
    ]
    sent = TimelineEntry(at=at + timedelta(seconds=9), where="sweep", what="sent", details={})
    life = Timeline(row="a", status="failed", entries=(*dead, sent))

    _, _, first, second = as_text(life).splitlines()

    assert "task_dead" in first
    assert "v 7, 9 times until 02:05:51" in first
    assert "sent" in second
    assert len(life.entries) == 10


def test_line_of_a_log_is_read() -> None:
    """R63: its function, its time, and what else it says."""
    found = of_line(LINE, make_row())

    assert found is not None
    assert (found.where, found.what, found.details) == ("embed", "task_started", {"version": 7})
    assert found.at == datetime(2026, 11, 17, 2, 5, 43, 329_000, UTC)


@pytest.mark.parametrize(
    "change",
    [{"document_id": "b"}, {"source": "notes"}, {"target": "large"}, {"timestamp": "yesterday"}],
)
def test_line_of_another_document_is_left_out(change: dict[str, str]) -> None:
    """R40: the same id in another source or target too."""
    assert of_line(LINE | change, make_row()) is None


def test_lines_of_all_functions_come_by_time(tmp_path: Path) -> None:
    """R40 R63: merged; a line without a time stays behind the one before it."""
    folder = tmp_path / "runner" / "logs"
    folder.mkdir(parents=True)

    def line(second: int, message: str) -> str:
        return json.dumps(
            {"timestamp": f"2026-11-17 02:05:{second:02},000+0000", "message": message}
        )

    (folder / "one.log").write_text(f"{line(1, 'a')}\nTraceback\n{line(4, 'd')}\n")
    (folder / "two.log").write_text(f"{line(2, 'b')}\n{line(3, 'c')}\n")
    seen: dict[str, int] = {}

    found = [(one.function, one.line) for one in log_lines(tmp_path, skip=seen)]

    assert [name for name, _ in found] == ["one", "one", "two", "two", "one"]
    assert found[1][1] == "Traceback"
    assert list(log_lines(tmp_path, skip=seen)) == []
    assert {one.function for one in log_lines(tmp_path, function="tw")} == {"two"}


def test_logs_in_aws_are_read_from_the_groups_of_the_stack(deployment: Deployment) -> None:
    """R40: where they are at hand; a document of another name is left out."""
    now_ms = round(datetime.now(UTC).timestamp() * 1000)
    row = make_row(revision=0, created_ms=now_ms, queued_ms=now_ms, written_ms=now_ms)
    deployment.ledger.write([row])
    session = deployment.session
    template = {
        "Resources": {"Logs": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "g"}}}
    }
    stack = session.client("cloudformation").create_stack(
        StackName="embedq-dev", TemplateBody=json.dumps(template)
    )["StackId"]
    logs = session.client("logs")
    logs.create_log_stream(logGroupName="g", logStreamName="s")
    lines = [LINE, LINE | {"document_id": "b", "message": "other"}]
    logs.put_log_events(
        logGroupName="g",
        logStreamName="s",
        logEvents=[{"timestamp": now_ms, "message": json.dumps(one)} for one in lines],
    )

    text = as_text(timeline(replace(deployment, stage="dev", stack_arn=stack), "a"))

    assert "task_started" in text
    assert "other" not in text


def test_without_logs_the_ledger_is_enough(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    """R40: it is said, and is no failure."""
    deployment.ledger.write([make_row(revision=0)])
    nowhere = "arn:aws:cloudformation:us-east-1:1:stack/none/1"

    answer = timeline(replace(deployment, stage="dev", stack_arn=nowhere), "a")

    assert {one.where for one in answer.entries} == {"table", "ledger"}
    assert "the logs are not at hand, only the ledger" in capsys.readouterr().err
