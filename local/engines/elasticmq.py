"""ElasticMQ, the SQS of one-machine mode, on loopback, with its queues in memory.

Storage on disk is left off: it brings a FIFO group back in another order. After a restart the
queues are gone, and the open tasks are sent again from the ledger.
"""

import urllib.request
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from local.aws_client import ACCOUNT, REGION
from local.engines.engine import LOOPBACK, Engine
from local.engines.fetch import Artifact, locked_jars
from local.engines.java import FIRST_COMPILER, Java

MAIN_CLASS = "org.elasticmq.server.Main"
SETTINGS = """\
include classpath("application.conf")
node-address {{ protocol = http, host = "{host}", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-hostname = "{host}", bind-port = {port}, sqs-limits = strict }}
rest-stats {{ enabled = false }}
aws {{ region = "{region}", accountId = "{account}" }}
"""


class ElasticMq(Engine):
    """Its ARNs name the region and the account."""

    key = "sqs"
    name = "ElasticMQ"

    def __init__(self, region: str = REGION, account: str = ACCOUNT) -> None:
        self._region = region
        self._account = account

    @cached_property
    def artifacts(self) -> Sequence[Artifact]:
        return locked_jars(self.key)

    def command(
        self, files: Mapping[Artifact, Path], java: Java, data: Path, port: int
    ) -> Sequence[str]:
        (data / "tmp").mkdir(parents=True, exist_ok=True)
        settings = data / "elasticmq.conf"
        names = {"region": self._region, "account": self._account}
        settings.write_text(SETTINGS.format(host=LOOPBACK, port=port, **names))
        return (
            *java.command,
            # Ten messages a request: a load of thousands of documents takes half of its CPU time.
            *FIRST_COMPILER,
            # Without a limit it grows beyond 1 GB.
            "-Xmx256m",
            "-XX:+UseSerialGC",
            f"-Djava.io.tmpdir={data / 'tmp'}",
            f"-Dconfig.file={settings}",
            "-cp",
            ":".join(str(files[jar]) for jar in self.artifacts),
            MAIN_CLASS,
        )

    def health_request(self, url: str) -> urllib.request.Request:
        return urllib.request.Request(f"{url}/?Action=ListQueues")
