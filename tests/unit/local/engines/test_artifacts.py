"""The pins of the engines, and where they are fetched from."""

import re

import pytest

from local.engines import ENGINES
from local.engines.fetch import Artifact, repository_url


def test_a_coordinate_names_its_path_in_the_repository() -> None:
    """R82: engines are pinned by Maven coordinate."""
    artifact = Artifact("org.slf4j:slf4j-api:jar:2.0.7", "0")

    assert artifact.path == "org/slf4j/slf4j-api/2.0.7/slf4j-api-2.0.7.jar"


def test_every_file_of_every_engine_is_pinned_by_content() -> None:
    """R82: no file without a sha256."""
    engines = [engine.artifacts for engine in ENGINES]

    assert [len(artifacts) for artifacts in engines] == [3, 84, 39]
    for artifact in (artifact for artifacts in engines for artifact in artifacts):
        assert re.fullmatch(r"[\w.-]+:[\w.-]+:(jar|zip):[\w.-]+", artifact.coordinate)
        assert re.fullmatch(r"[0-9a-f]{64}", artifact.sha256)


def test_the_public_repository_serves_unless_a_mirror_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R82: a mirror by an environment variable."""
    monkeypatch.delenv("EMBEDQ_MAVEN_MIRROR", raising=False)
    public = repository_url()
    monkeypatch.setenv("EMBEDQ_MAVEN_MIRROR", "http://mirror.example/maven/")

    assert public.startswith("https://")
    assert repository_url() == "http://mirror.example/maven"
