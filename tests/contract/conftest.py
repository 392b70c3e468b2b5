"""The real engines of the session, for the contract suites. Differences: engine-differences.md."""

from tests.engines.aws_fixtures import dynamodb_engine, dynamodb_url, sqs_url
from tests.engines.opensearch_fixture import opensearch_url

__all__ = ["dynamodb_engine", "dynamodb_url", "opensearch_url", "sqs_url"]
