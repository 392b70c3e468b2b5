"""Run one OpenSearch node with k-NN and neural-search, on loopback, without login.

Use the k-NN engine `lucene` only: this distribution has no native faiss, and a write to a faiss
index, which is what a mapping without an engine gets, kills the node.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from local.engines.artifacts import Artifact
from local.engines.java import Java
from local.engines.opensearch_install import AGENT_CLASSES, ARTIFACTS, install
from local.engines.places import Place
from local.engines.ready import LOOPBACK, Engine, answers_http, free_port
from local.engines.supervise import EngineProcess, Job
from local.engines.unprivileged import NOBODY, hand_over, is_root, own_folder, readable_copy

__all__ = ["ARTIFACTS", "launch_opensearch"]

NAME = "OpenSearch"
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


def launch_opensearch(
    files: Mapping[Artifact, Path],
    java: Java,
    place: Place,
    *,
    port: int | None = None,
    heap: str = HEAP,
) -> Engine:
    """Start the node on its data folder, without waiting until it is ready."""
    port = port or free_port()
    home = install(files)
    java = replace(java, home=readable_copy(java.home, f"java-{java.version}"))
    folder = own_folder(place.data)
    _write_settings(folder, port)
    hand_over(folder)
    command = (
        *java.command,
        f"-Xms{heap}",
        f"-Xmx{heap}",
        *JVM_FLAGS,
        *(["--add-modules=jdk.incubator.vector"] if java.has_vector_module else []),
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        # As an agent it would police what plugins may do. Ours are pinned, and looking into every
        # class doubles the CPU time of a start (measured: 29 s and 15 s). Its classes are needed.
        f"-Xbootclasspath/a:{home / 'agent' / AGENT_CLASSES}",
        f"-Dopensearch.path.home={home}",
        f"-Dopensearch.path.conf={folder / 'config'}",
        "-cp",
        f"{home / 'lib'}/*",
        "org.opensearch.bootstrap.OpenSearch",
    )
    user = NOBODY if is_root() else None
    process = EngineProcess(Job(NAME, command, place, user))
    url = f"http://{LOOPBACK}:{port}"
    health = f"{url}/_cluster/health?wait_for_status=yellow&timeout=1s"
    return Engine(NAME, url, process, lambda: answers_http(health))


def _write_settings(folder: Path, port: int) -> None:
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
        # A delete with an external version would create a missing index, without its mapping.
        "action.auto_create_index": False,
    }
    (folder / "config" / "log4j2.properties").write_text(LOGGING)
    # JSON is YAML.
    (folder / "config" / "opensearch.yml").write_text(json.dumps(settings, indent=1))
