"""Run ElasticMQ, the SQS of one-machine mode, on loopback, with its queues in memory.

Storage on disk is left off: it brings a FIFO group back in another order. After a restart the
queues are gone, and the ledger must bring the open tasks back.
"""

from collections.abc import Mapping
from pathlib import Path

from local.aws_client import ACCOUNT, REGION
from local.engines.artifacts import Artifact, locked_jars
from local.engines.java import Java
from local.engines.places import Place
from local.engines.ready import LOOPBACK, Engine, answers_http, free_port
from local.engines.supervise import EngineProcess, Job

NAME = "ElasticMQ"
MAIN_CLASS = "org.elasticmq.server.Main"
SETTINGS = """\
include classpath("application.conf")
node-address {{ protocol = http, host = "{host}", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-hostname = "{host}", bind-port = {port}, sqs-limits = strict }}
rest-stats {{ enabled = false }}
aws {{ region = "{region}", accountId = "{account}" }}
"""


def artifacts() -> tuple[Artifact, ...]:
    """Return the jars it needs."""
    return locked_jars("sqs")


def launch_elasticmq(
    files: Mapping[Artifact, Path],
    java: Java,
    place: Place,
    *,
    port: int | None = None,
    region: str = REGION,
    account: str = ACCOUNT,
) -> Engine:
    """Start it, without queues, not waiting until it is ready."""
    port = port or free_port()
    folder = place.data
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    settings = folder / "elasticmq.conf"
    settings.write_text(SETTINGS.format(host=LOOPBACK, port=port, region=region, account=account))
    command = (
        *java.command,
        # Without a limit it grows beyond 1 GB.
        "-Xmx256m",
        "-XX:+UseSerialGC",
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        f"-Dconfig.file={settings}",
        "-cp",
        ":".join(str(files[jar]) for jar in artifacts()),
        MAIN_CLASS,
    )
    process = EngineProcess(Job(NAME, command, place))
    url = f"http://{LOOPBACK}:{port}"
    return Engine(NAME, url, process, lambda: answers_http(f"{url}/?Action=ListQueues"))
