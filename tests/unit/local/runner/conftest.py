"""Functions of the sample folder as real processes, without engines."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from local.runner.invocation import Invocation
from local.runner.place import RunnerPlace
from local.runner.runner import Runner
from local.specs import FunctionSpec, ScheduleSpec

SAMPLES = Path(__file__).parents[3] / "runner" / "functions_sample"
NOWHERE = "http://127.0.0.1:1"
NO_DYNAMODB, NO_SQS = "http://127.0.0.1:2", "http://127.0.0.1:3"

StartFunction = Callable[..., Runner]


def sample_place(folder: Path, code_root: Path | None = SAMPLES) -> RunnerPlace:
    """Return a place without engines."""
    return RunnerPlace(folder, NO_SQS, NO_DYNAMODB, NOWHERE, code_root=code_root)


def sample_function(
    folder: Path, *, code: str = "sample", timeout_seconds: int = 10, reserved: int | None = None
) -> FunctionSpec:
    """Describe a function of the sample folder."""
    return FunctionSpec(
        name="sample",
        logical_id="Sample",
        folder=code,
        handler="handler.lambda_handler",
        environment={"NOTES": str(folder / "notes"), "OWN": "value"},
        timeout_seconds=timeout_seconds,
        memory_mb=256,
        reserved_concurrency=reserved,
    )


def call(runner: Runner, event: Any) -> Invocation:
    """Run the sample function on an event."""
    return runner.invoke("sample", json.dumps(event).encode())


@pytest.fixture
def start_function(tmp_path: Path) -> Iterator[StartFunction]:
    """Start a runner with one function; it is stopped at the end."""
    runners = []

    def start(
        *,
        schedules: Sequence[ScheduleSpec] = (),
        retry_seconds: Sequence[float] = (),
        **settings: object,
    ) -> Runner:
        function = sample_function(tmp_path, **settings)  # type: ignore[arg-type]
        runner = Runner(
            sample_place(tmp_path), [function], schedules=schedules, retry_seconds=retry_seconds
        )
        runner.start()
        runners.append(runner)
        return runner

    yield start
    for runner in runners:
        runner.stop(grace_seconds=0)
