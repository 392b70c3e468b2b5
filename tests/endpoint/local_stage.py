"""The dev stage as one machine runs it, synthesized once per test session."""

from pathlib import Path

import pytest

from local.template import LocalAddresses, local_template

ADDRESSES = LocalAddresses("http://127.0.0.1:9200", "http://127.0.0.1:8000/v1")
CACHE = pytest.StashKey[Path]()


def template_cache(config: pytest.Config, tmp: pytest.TempPathFactory) -> Path:
    """Return the session's folder of templates, with that of the local stage in it."""
    if CACHE not in config.stash:
        config.stash[CACHE] = tmp.mktemp("templates")
        local_template(cache=config.stash[CACHE])
    return config.stash[CACHE]
