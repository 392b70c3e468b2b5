"""Every alarm of a template is seen to begin with its fault, and to end without it."""

from math import prod

import pytest

from benchmarks.alarms.__main__ import PATH
from benchmarks.alarms.faults import FAULTS
from benchmarks.alarms.proof import CALM_MINUTES, prove, row, short_name
from benchmarks.alarms.stage import read_template, write_template
from benchmarks.alarms.world import LANES, World
from functions.core.failure import FailureKind
from functions.core.metrics import METRICS
from functions.core.names import METRICS_NAMESPACE
from local.specs import StackSpec
from tests.repo.checkout import texts
from tests.run_folder import made_once


@pytest.fixture(scope="session")
def spec(tmp_path_factory: pytest.TempPathFactory) -> StackSpec:
    """Return the stage whose alarms are proven."""
    return read_template(made_once(tmp_path_factory, "stage-of-alarms", write_template))


def test_every_alarm_has_its_fault(spec: StackSpec) -> None:
    """R61: an alarm that was never seen is none."""
    assert {short_name(spec, one.name) for one in spec.alarms} == set(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_alarm_begins_with_its_fault_and_ends_without_it(spec: StackSpec, name: str) -> None:
    """R61: within the minutes that docs/operations/proven.md says."""
    proven, _ = prove(spec, name)

    assert row(proven) in PATH.read_text().splitlines()


def test_every_metric_is_one_that_functions_count_and_tests_have_seen(spec: StackSpec) -> None:
    """R60: in the lines of a stage with trouble, or by a test that runs the step that counts it."""
    seen: set[str] = set()
    for name in ("BreakerOpen", "RetryRate", "FailedJobs", "ExhaustedDocuments"):
        _, world = prove(spec, name)
        seen |= {one.name for one in world.store.metrics() if one.namespace == "embedq"}
    # Tests of the template and of the format name metrics too, and see none of them counted.
    steps = [*texts("tests/flow/*.py").items(), *texts("tests/handlers/*.py").items()]
    steps += [one for one in texts("tests/unit/*.py").items() if "/adapters/" not in one[0]]
    tests = "\n".join(text for _, text in steps)
    code = "\n".join(
        text for path, text in texts("functions/*.py").items() if "metrics" not in path
    )

    assert [name for name in METRICS if f'"{name}"' not in code] == []
    assert [name for name in METRICS if name not in seen and f'"{name}"' not in tests] == []


def test_page_of_costs_counts_alarms_and_metrics(spec: StackSpec) -> None:
    """R50 R60: what CloudWatch charges for, in an hour without writes, with writes, and at most."""
    world = World(spec)

    def written(document: str | None) -> int:
        for minute in range(CALM_MINUTES):
            if document:
                world.write(f"{document}{minute}", f"text {minute}")
            world.minute()
        return len([one for one in world.store.metrics() if one.namespace == METRICS_NAMESPACE])

    quiet, busy = written(None), written("document")
    number = {"lane": len(LANES), "kind": len(FailureKind), "source": 1, "target": 1, "model": 1}
    most = sum(
        len(one.services)
        * (1 + (prod(number[by] for by in one.dimensions) if one.dimensions else 0))
        for one in METRICS.values()
    )

    page = (PATH.parents[1] / "costs.md").read_text()
    assert f"has {len(spec.alarms)} alarms" in page
    assert f"{quiet} metrics in a quiet hour, {busy} in an hour" in page
    assert "and fewer than 130," in page
    assert most < 130
