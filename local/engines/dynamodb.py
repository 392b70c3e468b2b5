"""DynamoDB Local with streams; tables and stream records survive a restart on their folder."""

import contextlib
import sqlite3
import urllib.request
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from local.aws_client import KEY, REGION
from local.engines.engine import Engine
from local.engines.fetch import Artifact, locked_jars
from local.engines.java import Java

LAUNCHER = Path(__file__).parent / "launcher"
MAIN_CLASS = "LoopbackDynamoDb"
# With -sharedDb all tables of all regions and credentials are in this one file.
DATABASE = "shared-local-instance.db"
# Without these, each write to a table with a stream scans all stream records of the database.
# Measured: 400 writes/s on an empty one, 20 after 15,000 records; with them 300, and flat.
STREAM_INDEXES = {
    "us_created": "CreationDateTime",
    "us_shard": "ShardID, SequenceNumber",
    "us_stream": "StreamID",
}


class DynamoDb(Engine):
    """Started by a class of ours, as it has no option for the interface it listens on."""

    key = "dynamodb"
    name = "DynamoDB Local"

    @cached_property
    def artifacts(self) -> Sequence[Artifact]:
        return locked_jars(self.key)

    def command(
        self, files: Mapping[Artifact, Path], java: Java, data: Path, port: int
    ) -> Sequence[str]:
        (data / "tmp").mkdir(parents=True, exist_ok=True)
        return (
            *java.command,
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "--enable-native-access=ALL-UNNAMED",
            f"-Djava.io.tmpdir={data / 'tmp'}",
            "-cp",
            ":".join(map(str, (LAUNCHER, *(files[jar] for jar in self.artifacts)))),
            MAIN_CLASS,
            "-sharedDb",
            "-dbPath",
            str(data),
            "-disableTelemetry",
            "-port",
            str(port),
        )

    def health_request(self, url: str) -> urllib.request.Request:
        # The first good answer also means that the engine has made its database file.
        # It wants a signature's form, but checks none.
        credential = f"Credential={KEY}/20260101/{REGION}/dynamodb/aws4_request"
        return urllib.request.Request(
            url,
            b"{}",
            {
                "X-Amz-Target": "DynamoDB_20120810.ListTables",
                "Content-Type": "application/x-amz-json-1.0",
                "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0",
            },
        )

    def on_ready(self, data: Path) -> None:
        """Add the indexes that DynamoDB Local lacks on its table of stream records."""
        with contextlib.closing(sqlite3.connect(data / DATABASE, timeout=10)) as connection:
            for name, columns in STREAM_INDEXES.items():
                connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON us ({columns})")
            connection.commit()
