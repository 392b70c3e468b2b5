"""The local stage's template, and a place to read it for."""

from pathlib import Path
from typing import Any

import pytest

from local.template import Site, local_template
from tests.endpoint.local_stage import ADDRESSES, template_cache


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that keeps synthesized templates."""
    return template_cache(tmp_path_factory)


@pytest.fixture(scope="session")
def template(cache: Path) -> dict[str, Any]:
    """Return the template of the local stage."""
    return ADDRESSES.put_into(local_template(cache=cache))


@pytest.fixture
def site() -> Site:
    """Return a place to read a template for."""
    return Site("embedq-local", "http://localhost:4566")
