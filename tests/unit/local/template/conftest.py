"""The dev stage as one machine runs it, synthesized once for all tests."""

from pathlib import Path
from typing import Any

import pytest

from local.template import LocalAddresses, Site, local_template

ADDRESSES = LocalAddresses("http://127.0.0.1:9200", "http://127.0.0.1:8000/v1")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that keeps synthesized templates."""
    return tmp_path_factory.mktemp("templates")


@pytest.fixture(scope="session")
def template(cache: Path) -> dict[str, Any]:
    """Return the template of the local stage."""
    return local_template(ADDRESSES, cache=cache)


@pytest.fixture
def site() -> Site:
    """Return a place to read a template for."""
    return Site("embedq-local", "http://localhost:4566")
