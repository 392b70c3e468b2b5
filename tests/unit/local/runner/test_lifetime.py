"""No process of a function outlives its runner, however that ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local.processes import ProcessId, wait_for
from tests.unit.local.runner.conftest import StartFunction, call, sample_place

LIMIT_SECONDS = 20.0


def are_gone(processes: list[ProcessId]) -> bool:
    """Wait until none of the processes is alive."""
    return wait_for(lambda: not any(process.is_alive() for process in processes), LIMIT_SECONDS)


@pytest.fixture
def owner(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that runs a busy function."""
    command = [sys.executable, "-m", "tests.unit.local.runner.owner", str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.kill()


def family(owner: "subprocess.Popen[str]", folder: Path) -> list[ProcessId]:
    """Return the function's process, what it started, and the supervisor."""
    assert owner.stdout is not None
    function, supervisor = map(int, owner.stdout.readline().split())
    return [ProcessId.of(pid) for pid in (function, child_of_function(folder), supervisor)]


def child_of_function(folder: Path) -> int:
    """Wait until the function has started a process of its own, and return it."""
    notes = folder / "notes"
    assert wait_for(lambda: notes.exists() and notes.read_text().endswith("\n"), LIMIT_SECONDS)
    child: int = json.loads(notes.read_text())["child"]
    return child


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killing_the_runner_ends_everything(
    owner: "subprocess.Popen[str]", tmp_path: Path, number: signal.Signals
) -> None:
    """R82: the function, what it started and the supervisor are gone."""
    processes = family(owner, tmp_path)

    owner.send_signal(number)

    assert are_gone(processes)


def test_a_killed_supervisor_ends_the_run_as_a_crash(
    start_function: StartFunction, tmp_path: Path
) -> None:
    """R82: nobody waits for a process that cannot answer any more, and the next run works."""
    runner = start_function(timeout_seconds=600)
    pid = call(runner, {}).result["pid"]

    with ThreadPoolExecutor(1) as caller:
        run = caller.submit(call, runner, {"do": "spawn"})
        processes = [ProcessId.of(pid), ProcessId.of(child_of_function(tmp_path))]
        os.kill(runner.supervisor_pid, signal.SIGKILL)

        assert are_gone(processes)
        error = run.result(LIMIT_SECONDS).error
    assert error is not None
    assert error["errorType"] == "Runtime.ExitError"
    assert call(runner, {}).result["pid"] != pid


def test_stop_leaves_no_process(start_function: StartFunction, tmp_path: Path) -> None:
    """R40 R82: an idle process ends with its runner, and no stack trace is in its log."""
    runner = start_function()
    processes = [ProcessId.of(call(runner, {}).result["pid"])]
    processes.append(ProcessId.of(runner.supervisor_pid))

    runner.stop()

    assert not any(process.is_alive() for process in processes)
    assert "Traceback" not in sample_place(tmp_path).log("sample").read_text()
