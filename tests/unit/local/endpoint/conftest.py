"""An endpoint whose engines do not answer: what it does by itself still works."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local.aws_client import local_client
from local.endpoint import AwsEndpoint, EngineUrls

# Nothing listens on this port of any machine: https://www.rfc-editor.org/rfc/rfc6335#section-6
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def events_file(tmp_path: Path) -> Path:
    """Return the file that gets what was sent to EventBridge."""
    return tmp_path / "events.jsonl"


@pytest.fixture
def endpoint(events_file: Path) -> Iterator[AwsEndpoint]:
    """Return a running endpoint."""
    engines = EngineUrls(dynamodb=NOWHERE, sqs=NOWHERE)
    with AwsEndpoint(engines, events_file=events_file) as endpoint:
        yield endpoint


@pytest.fixture
def client(endpoint: AwsEndpoint) -> Iterator[Callable[[str], Any]]:
    """Make clients of the endpoint that ask once."""
    made: list[Any] = []

    def make(service: Any) -> Any:
        made.append(local_client(service, endpoint.url, retries={"total_max_attempts": 1}))
        return made[-1]

    yield make
    for one in made:
        one.close()
