"""The pinned files of every engine: a coordinate, its sha256, and where it is fetched from."""

import os
from dataclasses import dataclass
from pathlib import Path

JARS_LOCK = Path(__file__).with_name("jars.lock")


@dataclass(frozen=True)
class Artifact:
    """One file of a Maven repository, known by its content."""

    coordinate: str
    sha256: str

    @property
    def path(self) -> str:
        """Return the path in the repository, and also in our cache."""
        group, name, kind, version = self.coordinate.split(":")
        return f"{group.replace('.', '/')}/{name}/{version}/{name}-{version}.{kind}"


def locked_jars(section: str) -> tuple[Artifact, ...]:
    """Read the jars of one engine from the lock file."""
    found, current = [], ""
    for line in JARS_LOCK.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            current = line.strip("[]")
        elif current == section and line and not line.startswith("#"):
            found.append(Artifact(*line.split()))
    return tuple(found)


def repository_url() -> str:
    """Return EMBEDQ_MAVEN_MIRROR, else the public repository as maven-artifact knows it."""
    if mirror := os.environ.get("EMBEDQ_MAVEN_MIRROR"):
        return mirror.rstrip("/")
    from maven_artifact import Downloader  # type: ignore[import-untyped]

    return str(Downloader().resolver.base)
