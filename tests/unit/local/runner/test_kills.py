"""A storm kills processes in the middle of their work, and knows how many."""

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from random import Random

from local.processes import wait_for
from tests.unit.local.runner.conftest import StartFunction, call

LIMIT_SECONDS = 20.0
SEED = 7


def test_a_process_that_works_is_killed_by_chance(start_function: StartFunction) -> None:
    """R81: the same seed chooses the same one; its run ends as a crash. Stopping kills nobody."""
    runner = start_function(timeout_seconds=30)
    with ThreadPoolExecutor(3) as callers:
        runs = [callers.submit(call, runner, {"do": "sleep", "seconds": 30}) for _ in range(3)]
        assert wait_for(lambda: len(runner.in_work("sample")) == 3, LIMIT_SECONDS)
        pids = [execution.pid for execution in runner.in_work("sample")]

        assert not runner.kill_busy("sample", Random(SEED), after_seconds=LIMIT_SECONDS)
        assert runner.kill_busy("sample", Random(SEED))

        [ended], others = wait(runs, LIMIT_SECONDS, FIRST_COMPLETED)
        assert ended.result().has_exited
        assert len(others) == 2
        assert set(pids) - set(runner.pids("sample")) == {Random(SEED).choice(pids)}
        runner.stop(grace_seconds=0)
    assert runner.killed_invocations == 1


def test_a_process_that_waits_is_left_alone(start_function: StartFunction) -> None:
    """R81: a kill that hits nobody's work is none."""
    runner = start_function()
    pid = call(runner, {}).result["pid"]

    assert not runner.kill_busy("sample", Random(SEED))
    assert not runner.kill_busy("another", Random(SEED))

    assert call(runner, {}).result["pid"] == pid
    assert runner.killed_invocations == 0


def test_a_run_that_ends_by_itself_is_not_counted(start_function: StartFunction) -> None:
    """R81: neither a crash of its own nor a timeout is a kill."""
    runner = start_function(timeout_seconds=1)

    call(runner, {"do": "die"})
    call(runner, {"do": "sleep", "seconds": 60})

    assert runner.killed_invocations == 0
