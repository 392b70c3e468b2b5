"""What the tests of the engines share: a mirror, an empty cache and a limit for every wait."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.local.engines.mirror import Mirror, running_mirror


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache."""
    monkeypatch.setenv("EMBEDQ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def mirror(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:  # noqa: ARG001
    """Use a mirror on loopback, with an empty cache."""
    with running_mirror() as running:
        monkeypatch.setenv("EMBEDQ_MAVEN_MIRROR", running.url + "/")
        yield running
