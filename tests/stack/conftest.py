"""One whole stack for the session: real engines, real functions, hashed vectors."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.stack import LocalStack, local_stack
from ops.deployment import local_deployment
from tests.stack.articles import Articles


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on real engines, and give a first run the time to fetch them."""
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
            Path(name), log=lambda _: None, vectors="hashed", in_memory=True, short_lived=True
        ) as running:
            yield running


@pytest.fixture
def articles(stack: LocalStack) -> Iterator[Articles]:
    """Return the documents of the session's stack, with a provider in good health."""
    found = Articles(local_deployment(stack.endpoint_url), stack.model_origin)
    yield found
    found.break_provider()
