"""A model server for the provider's adapter, and a small HTTP server that answers as told."""

from collections.abc import Iterator

import pytest

from local.provider.server import ModelServer
from tests.unit.adapters.scripted_server import ScriptedServer


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with ModelServer("hashed", key="the key") as server:
        yield server


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
