"""Run DynamoDB Local with streams; tables and stream records survive a restart on their folder.

It has no option for the interface and listens on every one of them: its owner says so.
"""

import contextlib
import sqlite3
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from local.engines.artifacts import Artifact, locked_jars
from local.engines.java import Java
from local.engines.places import Place
from local.engines.ready import LOOPBACK, Engine, answers_http, free_port
from local.engines.supervise import EngineProcess, Job

NAME = "DynamoDB Local"
LISTENS_EVERYWHERE = (
    "DynamoDB Local listens on every network interface (it has no setting for that): keep nothing "
    "secret in it, or close its port with a firewall"
)
MAIN_CLASS = "software.amazon.dynamodb.services.local.main.ServerRunner"
# With -sharedDb all tables of all regions and credentials are in this one file.
DATABASE = "shared-local-instance.db"
# Without these, each write to a table with a stream scans all stream records of the database.
# Measured: 400 writes/s on an empty one, 20 after 15,000 records; with them 300, and flat.
STREAM_INDEXES = {
    "us_created": "CreationDateTime",
    "us_shard": "ShardID, SequenceNumber",
    "us_stream": "StreamID",
}


def artifacts() -> tuple[Artifact, ...]:
    """Return the jars it needs."""
    return locked_jars("dynamodb")


def launch_dynamodb(
    files: Mapping[Artifact, Path],
    java: Java,
    place: Place,
    *,
    port: int | None = None,
) -> Engine:
    """Start it on its data folder, without waiting until it is ready."""
    port = port or free_port()
    data = place.data
    (data / "tmp").mkdir(parents=True, exist_ok=True)
    command = (
        *java.command,
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "--enable-native-access=ALL-UNNAMED",
        f"-Djava.io.tmpdir={data / 'tmp'}",
        "-cp",
        ":".join(str(files[jar]) for jar in artifacts()),
        MAIN_CLASS,
        "-sharedDb",
        "-dbPath",
        str(data),
        "-disableTelemetry",
        "-port",
        str(port),
    )
    process = EngineProcess(Job(NAME, command, place))
    url = f"http://{LOOPBACK}:{port}"
    return Engine(
        NAME,
        url,
        process,
        # The first good answer also means that the engine has made its database file.
        lambda: answers_http(_list_tables(url)),
        lambda: index_stream_records(data / DATABASE),
    )


def index_stream_records(database: Path) -> None:
    """Add the indexes that DynamoDB Local lacks on its table of stream records."""
    with contextlib.closing(sqlite3.connect(database, timeout=10)) as connection:
        for name, columns in STREAM_INDEXES.items():
            connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON us ({columns})")
        connection.commit()


def _list_tables(url: str) -> urllib.request.Request:
    # It wants a signature's form, but checks none.
    credential = "Credential=local/20260101/us-east-1/dynamodb/aws4_request"
    return urllib.request.Request(
        url,
        b"{}",
        {
            "X-Amz-Target": "DynamoDB_20120810.ListTables",
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0",
        },
    )
