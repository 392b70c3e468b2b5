"""A running model server with hashed vectors, the real SDK pointed at it, and the real model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import openai
import pytest

from local.provider.minilm import MiniLmVectors
from local.provider.server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def running_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def server(running_server: ModelServer) -> ModelServer:
    """Return the session's server, healthy and with counts of zero."""
    running_server.faults()
    running_server.reset_counts()
    return running_server


@pytest.fixture
def client(server: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url, api_key="any", max_retries=0, timeout=5) as client:
        yield client


@pytest.fixture(scope="session")
def minilm() -> MiniLmVectors:
    return MiniLmVectors()
