"""A second start finds the first, and a stale record is recognised as one."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.engines.records import (
    EngineRecord,
    Record,
    drop_record,
    end_leftovers,
    find_running,
    read_record,
    stop_running,
)
from local.processes import ProcessId

MYSELF = ProcessId.of(os.getpid())
EARLIER = ProcessId(MYSELF.pid, MYSELF.started - 60)  # gave its pid away


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process that does nothing."""
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        yield process
        process.kill()


def record_of(owner: ProcessId, *engines: ProcessId) -> Record:
    """Make a record of an owner and its engines."""
    entries = (EngineRecord("engine", "http://x", engine) for engine in engines)
    return Record(owner, ProcessId.of(0), tuple(entries))


def test_running_engines_are_found(tmp_path: Path) -> None:
    """R82: a second `up` finds the first."""
    record = record_of(MYSELF, MYSELF)
    record.write(tmp_path)

    assert find_running(tmp_path) == record


def test_a_pid_that_was_given_away_again_is_not_the_owner(tmp_path: Path) -> None:
    """R82: stale records are recognised by pid and start time."""
    record_of(EARLIER).write(tmp_path)

    assert find_running(tmp_path) is None


def test_a_process_that_ended_is_not_alive(sleeper: "subprocess.Popen[bytes]") -> None:
    """R82: also one whose parent has not looked yet (a zombie)."""
    process = ProcessId.of(sleeper.pid)
    assert process.is_alive()

    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)

    assert not process.is_alive()
    assert not ProcessId.of(sleeper.pid).is_alive()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"owner": 1}', '{"owner": {}, "engines": []}'])
def test_a_record_that_makes_no_sense_is_none(content: str, tmp_path: Path) -> None:
    """R82: a damaged record does not stop a start."""
    (tmp_path / "engines.json").write_text(content)

    assert read_record(tmp_path) is None


def test_what_a_dead_owner_left_is_ended(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    """R82: a start after a crash waits for the engines of the dead owner, then kills them."""
    record_of(EARLIER, ProcessId.of(sleeper.pid), EARLIER).write(tmp_path)

    end_leftovers(tmp_path, wait_seconds=0.1)

    assert sleeper.wait(10) == -signal.SIGKILL
    assert read_record(tmp_path) is None
    assert MYSELF.is_alive()


def test_a_running_owner_is_asked_to_stop(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    """R82: `down` stops what `up` started."""
    record_of(ProcessId.of(sleeper.pid)).write(tmp_path)

    stopped = stop_running(tmp_path)

    assert stopped
    assert sleeper.wait(10) == -signal.SIGTERM
    assert not stop_running(tmp_path)


def test_a_dropped_record_is_gone(tmp_path: Path) -> None:
    """R82: after a stop nothing claims to run."""
    record_of(MYSELF).write(tmp_path)

    drop_record(tmp_path)

    assert find_running(tmp_path) is None
