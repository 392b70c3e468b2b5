"""Each stage of the tests, synthesized once per test run."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from infrastructure.app import pipeline_app
from infrastructure.function_code import PLACEHOLDER
from local.provider.server import ModelServer
from tests.infrastructure.deployment import Deployed, deployed_stage
from tests.infrastructure.index_endpoint import index_endpoint
from tests.infrastructure.synthesized import CONTEXT, Synthesized
from tests.run_folder import made_once


@pytest.fixture(scope="session")
def synthesize(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Synthesized]:
    """Return a function that synthesizes a stage at its first use."""

    @cache
    def of(stage: str) -> Synthesized:
        def make(folder: Path) -> None:
            context = {**CONTEXT, "stage": stage}
            pipeline_app(context, code=PLACEHOLDER, outdir=folder).synth()

        out = made_once(tmp_path_factory, f"stage-{stage}", make)
        path = out / f"embedq-{stage}.template.json"
        return Synthesized(stage, path, json.loads(path.read_text()))

    return of


@pytest.fixture(params=sorted(CONTEXT["stages"]))
def synthesized(
    request: pytest.FixtureRequest, synthesize: Callable[[str], Synthesized]
) -> Synthesized:
    """Return each stage in turn."""
    return synthesize(request.param)


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """Deploy a stage with a table of its own and an existing endpoint, once for all tests."""
    folder = tmp_path_factory.mktemp("deployed")
    with (
        ModelServer("hashed") as models,
        index_endpoint() as index,
        deployed_stage(models_url=models.url, index=index, folder=folder) as found,
    ):
        yield found
