"""One DynamoDB Local and one ElasticMQ for the whole test run, each started when first used."""

import pytest

from local.engines.dynamodb import DynamoDb
from local.engines.elasticmq import ElasticMq
from tests.engines.session_engine import SessionEngine, session_engine


@pytest.fixture(scope="session")
def dynamodb_engine(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> SessionEngine:
    """Return the run's DynamoDB with streams: name your own tables."""
    return session_engine(pytestconfig, tmp_path_factory, DynamoDb())


@pytest.fixture(scope="session")
def dynamodb_url(dynamodb_engine: SessionEngine) -> str:
    """Return the URL of the run's DynamoDB with streams."""
    return dynamodb_engine.url


@pytest.fixture(scope="session")
def sqs_url(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of the run's SQS: name your own queues."""
    return session_engine(pytestconfig, tmp_path_factory, ElasticMq()).url
