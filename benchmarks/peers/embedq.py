"""embedq itself: the functions of the stack are killed, and nothing is started again.

A first load goes through the bulk lane, later changes through the normal one.
"""

import time
from collections.abc import Collection
from functools import cached_property
from typing import Any

import psutil

from benchmarks.peers.counting import Stored
from benchmarks.peers.documents import Texts
from benchmarks.peers.in_opensearch import engine_cpu_seconds, entries
from benchmarks.peers.protocol import Begin, Entrant, Site
from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.batches import batches
from functions.core.entry_shape import live
from functions.core.identity import DocumentId, RowKey, row_key
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from local.processes import wait_for
from ops.deployment import Deployment
from ops.stack import local_deployment

BATCH_WRITE_LIMIT = 25
ROUND_ROWS = 100
IN_WORK_SECONDS = 5.0
FOLDERS = ("enqueue", "embed")
ENGINES = ("OpenSearch", "DynamoDB Local", "ElasticMQ")


class EmbedqPeer:
    """The stack, with documents of its own."""

    def __init__(self, site: Site, story: str) -> None:
        self._site = site
        self._prefix = f"{story}-"
        self._lane = Lane.BULK
        self._waiting: set[RowKey] = set()
        self._written_ms = 0
        self._begin = Begin(0.0, 0.0)

    @cached_property
    def _deployment(self) -> Deployment:
        return local_deployment(self._site.stack.endpoint_url)

    def write(self, puts: Texts, deletes: Collection[str]) -> None:
        self._written_ms = time.time_ns() // 1_000_000
        self._begin = Begin(time.monotonic(), self.cpu_seconds())
        requests: list[Any] = [
            {"PutRequest": {"Item": to_dynamodb(self._item(name, text))}}
            for name, text in puts.items()
        ]
        requests += [
            {"DeleteRequest": {"Key": to_dynamodb({"id": self._prefix + name})}} for name in deletes
        ]
        client, table = self._deployment.client("dynamodb"), self._deployment.source(None).table
        for part in batches(requests, BATCH_WRITE_LIMIT):
            left: Any = {table: part}
            while left:
                left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]
        self._waiting = {self._key(name) for name in (*puts, *deletes)}
        self._lane = Lane.NORMAL

    def start(self) -> "EmbedqPeer":
        """Do nothing: the queue brings back what a killed run had."""
        return self

    def is_over(self) -> bool:
        for part in batches(sorted(self._waiting), ROUND_ROWS):
            rows = self._deployment.ledger.read(part).values()
            self._waiting -= {row.row_key for row in rows if self._is_final(row)}
        return not self._waiting

    def kill(self) -> bool:
        runner = self._site.stack.runner
        working: list[Any] = []

        def is_in_work() -> bool:
            working[:] = [one for folder in FOLDERS for one in runner.in_work(folder)]
            return bool(working)

        if not wait_for(is_in_work, IN_WORK_SECONDS):
            return False
        for execution in working:
            execution.kill()
        return True

    def stored(self) -> list[Stored]:
        found = entries(self._site, self._deployment.target(None).index, live())
        return [
            (entry["document_id"].removeprefix(self._prefix), chunk["text"])
            for entry in found
            if entry["document_id"].startswith(self._prefix)
            for chunk in entry["chunks"]
        ]

    def begin(self) -> Begin:
        return self._begin

    def cpu_seconds(self) -> float:
        runner, functions = self._site.stack.runner, self._site.stack.spec.functions
        names = [one.name for one in functions if one.folder in FOLDERS]
        pids = [pid for name in names for pid in runner.pids(name)]
        return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)

    def store_cpu_seconds(self) -> float:
        return engine_cpu_seconds(self._site, *ENGINES)

    def _item(self, name: str, text: str) -> dict[str, str]:
        return {"id": self._prefix + name, "body": text, "priority": str(self._lane)}

    def _key(self, name: str) -> RowKey:
        target, source = self._deployment.target(None).name, self._deployment.source(None).name
        return row_key(target, source, DocumentId(self._prefix + name))

    def _is_final(self, row: LedgerRow) -> bool:
        final = row.status in (Status.COMPLETED, Status.DELETED)
        return final and row.queued_ms >= self._written_ms


ENTRANT = Entrant(
    name="embedq",
    store="OpenSearch",
    package=None,
    restart="nothing: the queue brings it back",
    make=EmbedqPeer,
)
