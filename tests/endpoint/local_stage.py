"""The standard stage, synthesized once per test run."""

from pathlib import Path

import pytest

from local.template import LocalAddresses, local_template
from tests.run_folder import made_once

ADDRESSES = LocalAddresses("http://127.0.0.1:9200", "http://127.0.0.1:8000")


def template_cache(tmp: pytest.TempPathFactory) -> Path:
    """Return the run's folder of templates, with that of the local stage in it."""
    return made_once(tmp, "templates", lambda folder: local_template(cache=folder))
