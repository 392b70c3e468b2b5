"""One whole stack for the session: real engines, real functions, hashed vectors.

It runs a stage of several sources and targets; most tests see one of each.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.storm.tempo import with_target, with_timeout
from local.specs import StackSpec
from local.stack import LocalStack, local_stack
from tests.stack.articles import Articles
from tests.stack.own_stage import CALM_BREAKER, OWN, articles_only

# A third of what is deployed: a killed run is noticed half a minute after it.
EMBED_SECONDS = 40


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on real engines, and give them the time to start."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.engines)
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def stack() -> Iterator[LocalStack]:
    """Return the session's stack: name your own documents."""
    # Not pytest's own folder: OpenSearch's user could not enter it.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        with local_stack(
            Path(name),
            log=lambda _: None,
            stage=OWN,
            vectors="hashed",
            in_memory=True,
            short_lived=True,
            change=_undisturbed,
        ) as running:
            yield running


def _undisturbed(spec: StackSpec) -> StackSpec:
    """Let no breaker come between: tests share the stack, and switch mappings by hand.

    The storm has breakers and sweeps at their work. A killed run is noticed after its whole time.
    """
    schedules = [
        replace(schedule, every_seconds=5)
        for schedule in spec.schedules
        if "due" in schedule.payload
    ]
    spec = with_timeout(replace(spec, schedules=schedules), embed_seconds=EMBED_SECONDS)
    return with_target(spec, breaker=CALM_BREAKER)


@pytest.fixture
def articles(stack: LocalStack) -> Iterator[Articles]:
    """Return the documents of the session's stack, with a provider in good health."""
    found = Articles(articles_only(stack.endpoint_url), stack.model_origin)
    yield found
    found.break_provider()
