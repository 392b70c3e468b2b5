"""How a contract suite names its engines, and gets a client of one.

Where an engine differs from AWS, docs/engine-differences.md says so, with the reason.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from moto import mock_aws

from local.aws_client import local_client
from local.engines.errors import EngineError


def real(name: str) -> Any:
    """Name a real engine as a parameter; it has the time to start."""
    return pytest.param(name, marks=[pytest.mark.engines, pytest.mark.timeout(600)])


def engine_url(request: pytest.FixtureRequest, fixture: str) -> str:
    """Return the URL of a session's engine; without it, fail in CI and skip elsewhere."""
    try:
        return str(request.getfixturevalue(fixture))
    except EngineError as error:
        message = f"{fixture} is not to be had, so its contract is not proven: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)


@cache
def client(service: str, url: str | None = None) -> Any:
    """Make a client that never leaves this machine; once, as making one takes longest."""
    return local_client(service, url)


@contextmanager
def aws_client(
    request: pytest.FixtureRequest, service: str, *, engine: str, fixture: str
) -> Iterator[Any]:
    """Give a client of moto, or of the real engine of the fixture."""
    if engine == "moto":
        with mock_aws():
            yield client(service)
    else:
        yield client(service, engine_url(request, fixture))
