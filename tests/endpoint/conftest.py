"""The endpoint in front of the session's real engines."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from local.aws_client import CREDENTIALS, REGION, local_client
from local.endpoint import AwsEndpoint, EngineUrls
from tests.engines.aws_fixtures import dynamodb_engine, dynamodb_url, sqs_url
from tests.engines.opensearch_fixture import opensearch_url

__all__ = ["dynamodb_engine", "dynamodb_url", "opensearch_url", "sqs_url"]

AWS = Path(sys.executable).with_name("aws")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on real engines, and give them the time to start."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.engines)
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def endpoint(dynamodb_url: str, sqs_url: str) -> Iterator[AwsEndpoint]:
    """Return the session's endpoint: name your own tables and queues."""
    with AwsEndpoint(EngineUrls(dynamodb=dynamodb_url, sqs=sqs_url)) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def client(endpoint: AwsEndpoint) -> Callable[[str], Any]:
    """Make clients of the endpoint."""
    return partial(local_client, endpoint_url=endpoint.url)


@pytest.fixture(scope="session")
def aws(endpoint: AwsEndpoint) -> Callable[..., str]:
    """Run the real aws command line against the endpoint."""
    environment = {**os.environ, **CREDENTIALS, "AWS_ENDPOINT_URL": endpoint.url}

    def run(*arguments: str) -> str:
        # Version 1 of the command line does not heed the variable for SQS:
        # https://github.com/aws/aws-cli/issues/8737
        address = ("--endpoint-url", endpoint.url) if arguments[0] == "sqs" else ()
        done = subprocess.run(
            [str(AWS), *arguments, *address, "--region", REGION, "--output", "text"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout.strip()

    return run
