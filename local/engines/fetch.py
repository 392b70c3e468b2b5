"""The pinned files of every engine, fetched into the cache: checked by sha256, whole or absent."""

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock

from local.engines.download import Downloader
from local.engines.errors import WITHOUT_ENGINES, ChecksumError
from local.engines.progress import FetchProgress

JARS_LOCK = Path(__file__).with_name("jars.lock")
PARALLEL_FILES = 8


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
    from maven_artifact import Downloader as MavenDownloader  # type: ignore[import-untyped]

    return str(MavenDownloader().resolver.base)


def cache_folder() -> Path:
    """Return EMBEDQ_CACHE, else the user's cache folder."""
    if chosen := os.environ.get("EMBEDQ_CACHE"):
        return Path(chosen).absolute()
    return platformdirs.user_cache_path("embedq")


def fetch_all(
    artifacts: Iterable[Artifact],
    progress: FetchProgress,
    *,
    pause: Callable[[float], None] = time.sleep,
) -> dict[Artifact, Path]:
    """Return the local path of every artifact, fetching the ones that are not in the cache."""
    folder = cache_folder() / "maven"
    paths = {artifact: folder / artifact.path for artifact in artifacts}
    missing = [artifact for artifact, path in paths.items() if not path.exists()]
    if missing:
        base = repository_url()
        downloader = Downloader(progress, pause)
        with progress.fetching(len(missing)), ThreadPoolExecutor(PARALLEL_FILES) as pool:
            fetches = [pool.submit(_fetch, a, base, paths[a], downloader) for a in missing]
            try:
                for fetched in fetches:
                    fetched.result()
            finally:
                # After the first failure, or Ctrl-C, the other files are not needed.
                downloader.cancelled.set()
                pool.shutdown(wait=False, cancel_futures=True)
    return paths


def _fetch(artifact: Artifact, base: str, path: Path, downloader: Downloader) -> None:
    """Fetch one file; a second process that wants the same one waits and finds it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f"{path.name}.lock")):
        if not path.exists():
            _fetch_locked(artifact, f"{base}/{artifact.path}", path, downloader)
    downloader.progress.add(files=1)


def _fetch_locked(artifact: Artifact, url: str, path: Path, downloader: Downloader) -> None:
    # The name carries the pin, so that a new pin never resumes the rest of an old one.
    part = path.with_name(f"{path.name}.{artifact.sha256[:12]}.part")
    resumed = part.exists()
    downloader.complete(url, part, artifact.coordinate)
    actual = _sha256(part)
    if actual != artifact.sha256 and resumed:
        # What was kept from an earlier run may be damaged: once more from the start.
        part.unlink()
        downloader.complete(url, part, artifact.coordinate)
        actual = _sha256(part)
    if actual != artifact.sha256:
        part.unlink()
        raise ChecksumError(
            f"{artifact.coordinate} from {url} has sha256 {actual}, expected {artifact.sha256}. "
            "The file was thrown away. Check EMBEDQ_MAVEN_MIRROR and any proxy in between, "
            f"{WITHOUT_ENGINES}."
        )
    part.replace(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
