"""Engines end with their owner and keep what they were given: tried with real signals."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from local.engines import EnginesRunningError, find_running, start_engines
from local.engines.dynamodb import DynamoDb
from local.engines.elasticmq import ElasticMq
from local.engines.opensearch import OpenSearch as OpenSearchEngine
from local.engines.records import read_record
from local.processes import ProcessId, wait_for

LIMIT_SECONDS = 30.0


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder that the user of OpenSearch can enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def owner_of(folder: Path, until: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that owns engines on the folder, and wait until it says so much."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engines.owner", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if re.match(until, line):
                    break
            yield process
        finally:
            process.kill()


def all_gone(processes: tuple[ProcessId, ...]) -> bool:
    """Wait until none of the processes is alive."""
    return wait_for(lambda: not any(process.is_alive() for process in processes), LIMIT_SECONDS)


def test_a_killed_owner_leaves_no_process_and_loses_no_data(
    folder: Path,
    client: Callable[[str, str], Any],
    search_client: Callable[[str], OpenSearch],
) -> None:
    """R31, R82: SIGKILL of the parent ends all engines; the next start has tables and documents."""
    with owner_of(folder, until="all ready") as owner:
        first = find_running(folder)
        assert first is not None
        urls = {engine.name: engine.url for engine in first.engines}
        client("dynamodb", urls["DynamoDB Local"]).create_table(
            TableName="kept",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        with search_client(urls["OpenSearch"]) as search:
            search.indices.create(index="kept")
            search.index(index="kept", id="a", body={"text": "kept"})
        with pytest.raises(EnginesRunningError, match=f"started by process {owner.pid}"):
            start_engines(folder, log=lambda _: None)

        owner.kill()
        owner.wait()

        assert find_running(folder) is None
        assert all_gone(first.processes())

    with start_engines(folder, log=lambda _: None, short_lived=True) as engines:
        second = find_running(folder)
        tables = client("dynamodb", engines.url(DynamoDb)).list_tables()["TableNames"]
        queues = client("sqs", engines.url(ElasticMq)).list_queues().get("QueueUrls", [])
        with search_client(engines.url(OpenSearchEngine)) as search:
            document = search.get(index="kept", id="a")["_source"]
        assert engines.ended() == ()

    assert (tables, queues, document) == (["kept"], [], {"text": "kept"})
    assert second is not None
    assert all_gone(second.processes())
    assert read_record(folder) is None


@pytest.mark.parametrize("moment", ["starting", "(DynamoDB Local|ElasticMQ) ready"])
def test_ctrl_c_while_starting_leaves_no_process(moment: str, folder: Path) -> None:
    """R82: Ctrl-C at any moment leaves no process behind."""
    with owner_of(folder, until=moment) as owner:
        assert wait_for(lambda: read_record(folder) is not None, LIMIT_SECONDS)
        record = read_record(folder)
        assert record is not None

        os.killpg(owner.pid, signal.SIGINT)

        assert owner.wait(LIMIT_SECONDS) == 0
        assert all_gone(record.processes())
        assert read_record(folder) is None
        assert not processes_in(folder)


def processes_in(folder: Path) -> list[int]:
    """Return every process that names the folder in its command."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,args="], capture_output=True, text=True, check=True
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if str(folder) in line]
