"""How long each function takes until it asks for its first event, against its runtime alone."""

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.bench.row import Row
from local.processes import Processes
from local.runner.execution import Execution
from local.runner.place import RunnerPlace
from local.runner.program import make_program
from local.specs import FunctionSpec
from local.stages import CHECKOUT

GOALS = {"enqueue": 1.3, "embed": 1.6}
ALONE = "alone"
ALONE_CODE = """
import boto3
from aws_lambda_powertools import Logger, Metrics

def lambda_handler(event, context):
    return None
"""
START_SECONDS = 60.0
LOOK_SECONDS = 0.002
CODE = CHECKOUT / "build" / "local"


def measure(functions: Sequence[FunctionSpec], rounds: int) -> dict[str, float]:
    """Start each function by turns; return the median seconds of each, and of the runtime alone."""
    first = {one.folder: one for one in functions}
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, Processes() as processes:
        folder = Path(name)
        _make_alone(folder / "code")
        own = RunnerPlace(folder, "", "", aws_url="http://localhost:9", code_root=CODE)
        bare = replace(own, code_root=folder / "code")
        plain = replace(first["enqueue"], folder=ALONE, handler="base.lambda_handler")
        for round_ in range(rounds + 1):
            for function in (plain, *first.values()):
                place = bare if function is plain else own
                seconds = _start(function, place, processes)
                # The first one compiles the modules.
                if round_:
                    times.setdefault(function.folder, []).append(seconds)
    return {folder: statistics.median(found) for folder, found in times.items()}


def _make_alone(root: Path) -> None:
    """Make a package of the same wheels, with a handler that only imports."""
    code = root / ALONE
    code.mkdir(parents=True)
    for path in (CODE / "enqueue").iterdir():
        if path.name != "functions":
            (code / path.name).symlink_to(path)
    (code / "base.py").write_text(ALONE_CODE)


def _start(function: FunctionSpec, place: RunnerPlace, processes: Processes) -> float:
    place.log(function.name).parent.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    execution = Execution(processes, lambda address: make_program(function, place, address))
    try:
        while not execution.is_in_work:
            if not execution.is_alive or time.perf_counter() - began > START_SECONDS:
                raise RuntimeError(place.log(function.name).read_text()[-2000:])
            time.sleep(LOOK_SECONDS)
        return time.perf_counter() - began
    finally:
        execution.close()


def rows(found: dict[str, float]) -> list[Row]:
    """Compare with the runtime alone; functions without a goal are printed together."""
    alone = found[ALONE]
    against = f"same runtime importing boto3 and Powertools alone: {alone:.2f} s"
    held = [
        Row(
            f"cold start of {folder}",
            found[folder] / alone,
            "x",
            against,
            limit=goal,
            note=f"{found[folder]:.2f} s",
        )
        for folder, goal in GOALS.items()
    ]
    others = {name: one / alone for name, one in found.items() if name not in (ALONE, *GOALS)}
    note = ", ".join(f"{name} {share:.2f}" for name, share in others.items())
    return [
        *held,
        Row("cold start of the others, at most", max(others.values()), "x", against, note=note),
    ]
