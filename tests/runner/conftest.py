"""Runners on the real engines of the test session, with the sample function."""

from collections.abc import Iterator

import pytest

from tests.engines.aws_fixtures import dynamodb_engine, dynamodb_url, sqs_url
from tests.runner.stage import Stage

__all__ = ["dynamodb_engine", "dynamodb_url", "sqs_url"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on real engines, and give them the time to start."""
    for item in items:
        if "runner" in item.path.parent.parts and "unit" not in item.path.parts:
            item.add_marker(pytest.mark.engines)
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture
def stage(
    tmp_path_factory: pytest.TempPathFactory, sqs_url: str, dynamodb_url: str
) -> Iterator[Stage]:
    """Make a stage with its own folder; every runner on it is stopped at the end."""
    with Stage(tmp_path_factory.mktemp("runner"), sqs_url, dynamodb_url) as made:
        yield made
