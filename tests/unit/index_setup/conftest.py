"""A real OpenSearch for the set-up of indexes, and names that nobody else uses there."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from functions.adapters.opensearch_http import OpenSearchHttp
from tests.contract.index_engines import opensearch
from tests.engines.opensearch_fixture import opensearch_url
from tests.unit.adapters.scripted_server import ScriptedServer

__all__ = ["opensearch_url"]


@pytest.fixture
def http(request: pytest.FixtureRequest) -> OpenSearchHttp:
    return opensearch(request)


@pytest.fixture
def alias(http: OpenSearchHttp) -> Iterator[str]:
    alias = f"setup-{uuid4()}"
    yield alias
    http.call("DELETE", f"{alias}*")


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
