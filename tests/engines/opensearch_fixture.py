"""One OpenSearch node for the whole test run, for a conftest that imports the fixture."""

import pytest

from local.engines.opensearch import OpenSearch
from tests.engines.session_engine import session_engine


@pytest.fixture(scope="session")
def opensearch_url(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of the run's node: name your own index, others use it too."""
    return session_engine(pytestconfig, tmp_path_factory, OpenSearch()).url
