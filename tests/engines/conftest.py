"""The engines of the test session, and clients that talk to them."""

from collections.abc import Callable
from typing import Any

import pytest
from opensearchpy import OpenSearch

from local.aws_client import local_client
from tests.engines.aws_fixtures import dynamodb_engine, dynamodb_url, sqs_url
from tests.engines.opensearch_fixture import opensearch_url

__all__ = ["dynamodb_engine", "dynamodb_url", "opensearch_url", "sqs_url"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on real engines, and give them the time to start."""
    for item in items:
        if "engines" in item.path.parent.parts and "unit" not in item.path.parts:
            item.add_marker(pytest.mark.engines)
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture
def client() -> Callable[[str, str], Any]:
    """Make a client of a service at an engine's URL."""
    return local_client


@pytest.fixture
def search_client() -> Callable[[str], OpenSearch]:
    """Make a client of an OpenSearch node."""
    return lambda url: OpenSearch(url)
