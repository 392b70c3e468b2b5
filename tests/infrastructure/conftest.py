"""Each stage of cdk.json, synthesized once for all tests, with the security scan's findings."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infrastructure.function_code import PLACEHOLDER
from infrastructure.pipeline_app import pipeline_app
from tests.infrastructure.security_scan import findings, scan
from tests.infrastructure.synthesized import Synthesized

ROOT = Path(__file__).resolve().parents[2]
CONTEXT: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]


@pytest.fixture(scope="session")
def synthesize(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Synthesized]:
    """Return a function that synthesizes a stage of cdk.json at its first use."""

    @cache
    def of(stage: str) -> Synthesized:
        out = tmp_path_factory.mktemp(stage)
        app = pipeline_app({**CONTEXT, "stage": stage}, code=PLACEHOLDER, outdir=out)
        scan(app)
        path = out / f"embedq-{stage}.template.json"
        return Synthesized(stage, path, json.loads(path.read_text()), findings(out))

    return of


@pytest.fixture(params=sorted(CONTEXT["stages"]))
def synthesized(
    request: pytest.FixtureRequest, synthesize: Callable[[str], Synthesized]
) -> Synthesized:
    """Return each stage of cdk.json in turn."""
    return synthesize(request.param)
