"""Rules fire their functions at a steady rate until the runner stops."""

import json
import time
from pathlib import Path

from local.processes import wait_for
from local.specs import ScheduleSpec
from tests.unit.local.runner.conftest import StartFunction, call

LIMIT_SECONDS = 20.0


def rule(payload: object, *, every_seconds: int = 1, enabled: bool = True) -> ScheduleSpec:
    return ScheduleSpec("rule", "sample", every_seconds, json.dumps(payload), enabled)


def test_a_rule_fires_a_whole_interval_after_the_start_and_again(
    start_function: StartFunction, tmp_path: Path
) -> None:
    """R29 R82: the event is the template's; a disabled rule never fires."""
    notes, log = tmp_path / "notes", tmp_path / "logs" / "sample.log"
    began = time.time()

    start_function(
        schedules=[
            rule({"do": "say", "text": "never"}, enabled=False),
            rule({"Records": [], "job": "due"}),
        ]
    )

    assert wait_for(
        lambda: notes.exists() and len(notes.read_text().splitlines()) >= 2, LIMIT_SECONDS
    )
    first, second = (json.loads(line)["began"] for line in notes.read_text().splitlines()[:2])
    assert first - began >= 1
    assert second > first
    assert "never" not in log.read_text()


def test_a_rule_fires_also_while_the_last_event_is_worked(start_function: StartFunction) -> None:
    """R82: EventBridge waits for nobody, and stop does not wait for the functions either."""
    runner = start_function(timeout_seconds=60, schedules=[rule({"do": "sleep", "seconds": 60})])

    assert wait_for(lambda: len(runner.pids("sample")) >= 2, LIMIT_SECONDS)

    runner.stop(grace_seconds=0)
    assert call(runner, {}).is_throttled


def test_a_rule_that_waits_ends_with_the_runner(start_function: StartFunction) -> None:
    """R82: nobody waits for the next hour."""
    runner = start_function(schedules=[rule({}, every_seconds=3600)])

    runner.stop()

    assert runner.pids("sample") == []
