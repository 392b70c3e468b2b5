"""A small storm over a stack of its own: what `make storm` does at full size."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.storm.plan import make_plan
from benchmarks.storm.run import Limits, run_storm
from benchmarks.storm.tempo import Tempo, hurried
from benchmarks.storm.weather import FaultWindow, Outage, OutageWindow
from benchmarks.storm.world import World, storm_world
from local.provider.faults import Fault, FaultKind

# A killed run's messages come back 30 s after its timeout: most of what the test takes.
TEMPO = Tempo(embed_seconds=6, maintenance_seconds=5, stuck_seconds=45.0)
LIMITS = Limits(storm_seconds=120.0, calm_seconds=240.0)
PLAN = replace(
    make_plan(seed=5, operations=100, kills=6, seconds=10.0),
    faults=(
        FaultWindow(1.0, 3.0, Fault(FaultKind.RATE_LIMITED, seconds=1)),
        FaultWindow(7.0, 3.0, Fault(FaultKind.SERVER_ERROR, share=0.6, seed=5)),
    ),
    outages=(OutageWindow(4.0, 3.0, Outage.CUT),),
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Return a stack in a hurry."""
    # Not pytest's own folder: OpenSearch's user could not enter it.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        with storm_world(
            Path(name),
            change=lambda spec: hurried(spec, TEMPO),
            log=lambda _: None,
            short_lived=True,
        ) as running:
            yield running


def test_nothing_is_lost_in_a_small_storm(world: World) -> None:
    """R31 R63 R81: throttled, failing, killed, without an index: in the end everything agrees.

    No line of any output has a text, a vector or the provider's key.
    """
    result = run_storm(world, PLAN, limits=LIMITS, say=lambda _: None)

    assert result.verdict.kinds == {kind: [] for kind in result.verdict.kinds}
    assert result.violations() == []
    assert result.killed >= len(PLAN.kills)
    assert "Violations: 0. Everything agrees." in list(result.lines())
