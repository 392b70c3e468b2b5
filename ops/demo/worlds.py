"""Where the demo runs: on the real engines, or on memory engines in this process."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from functions.adapters.dynamodb_values import to_dynamodb
from functions.adapters.providers import make_embedder
from functions.core.entry import Hit
from functions.core.identity import DocumentId, row_key
from functions.core.ledger_row import LedgerRow
from functions.core.settings import SourceSettings, TargetSettings
from local.memory.pipeline import MemoryPipeline
from ops import searching
from ops.dead_changes import redrive_all
from ops.demo.model_change import EngineModelChange, MemoryModelChange, ModelChange
from ops.demo.provider import Provider
from ops.deployment import Deployment
from ops.selection import Selection

SEARCH_TIMEOUT_SECONDS = 30.0
TICK_SECONDS = 0.2
SOURCE, TARGET = "articles", "default"


class World(ABC):
    """One table, one target, one index, and a provider that can be broken."""

    def __init__(self, model_origin: str) -> None:
        self.provider = Provider(model_origin)

    @abstractmethod
    def put(self, item: Mapping[str, Any]) -> None:
        """Write a document, as an application does."""

    @abstractmethod
    def delete(self, document_id: str) -> None:
        """Delete a document."""

    @abstractmethod
    def rows(self, ids: Sequence[str]) -> dict[str, LedgerRow]:
        """Return the ledger rows of documents."""

    @abstractmethod
    def tick(self) -> None:
        """Let some time pass."""

    @abstractmethod
    def search(self, query: str, most: int) -> list[Hit]:
        """Search by meaning."""

    @abstractmethod
    def dead_letters(self) -> list[LedgerRow]:
        """Return the rows of the documents that have a dead letter."""

    @abstractmethod
    def redrive(self) -> int:
        """Move the dead letters back to their lanes; return how many."""

    @abstractmethod
    def change_model(self) -> ModelChange:
        """Deploy a second target that replaces the first; the last thing to be done."""


class EngineWorld(World):
    """The stack on this machine, used through its AWS endpoint."""

    def __init__(
        self, deployment: Deployment, model_origin: str, deploy_next: Callable[[], Deployment]
    ) -> None:
        """`deploy_next` lets the stack run with a second target."""
        super().__init__(model_origin)
        self._deployment = deployment
        self._deploy_next = deploy_next
        self._dynamodb = deployment.client("dynamodb")
        self._table = deployment.source(SOURCE).table

    def put(self, item: Mapping[str, Any]) -> None:
        self._dynamodb.put_item(TableName=self._table, Item=to_dynamodb(item))

    def delete(self, document_id: str) -> None:
        self._dynamodb.delete_item(TableName=self._table, Key={"id": {"S": document_id}})

    def rows(self, ids: Sequence[str]) -> dict[str, LedgerRow]:
        keys = [row_key(TARGET, SOURCE, DocumentId(name)) for name in ids]
        return {row.task.document_id: row for row in self._deployment.ledger.read(keys).values()}

    def tick(self) -> None:
        time.sleep(TICK_SECONDS)

    def search(self, query: str, most: int) -> list[Hit]:
        return searching.find(self._deployment, query, most=most)

    def dead_letters(self) -> list[LedgerRow]:
        if not self._deployment.count_dead_letters(TARGET):
            return []
        return Selection(target=TARGET).rows(self._deployment)

    def redrive(self) -> int:
        return redrive_all(self._deployment)

    def change_model(self) -> ModelChange:
        return EngineModelChange(self._deploy_next())


class MemoryWorld(World):
    """Everything in this process; its clock moves when the demo waits."""

    def __init__(self, model_url: str, model_origin: str) -> None:
        super().__init__(model_origin)
        self._target = target = TargetSettings(
            name=TARGET,
            base_url=model_url,
            model="all-MiniLM-L6-v2",
            dimensions=384,
            chunk_tokens=120,
            index="articles",
        )
        self._source = source = SourceSettings(
            name=SOURCE,
            table=SOURCE,
            key=("id",),
            text="{title}\n\n{body}",
            chunk_prefix="{title}\n\n",
        )
        self._embedder = make_embedder(target, lambda _: "no key needed here")
        self._pipeline = MemoryPipeline([source], [target], embedders={TARGET: self._embedder})
        self._table = self._pipeline.tables[SOURCE]

    def put(self, item: Mapping[str, Any]) -> None:
        self._table.put(item)

    def delete(self, document_id: str) -> None:
        self._table.delete({"id": document_id})

    def rows(self, ids: Sequence[str]) -> dict[str, LedgerRow]:
        rows = {name: self._pipeline.row(name, source=SOURCE) for name in ids}
        return {name: row for name, row in rows.items() if row is not None}

    def tick(self) -> None:
        self._pipeline.deliver_new()
        for queue in self._pipeline.queues.names:
            self._pipeline.run(queue)
        self._pipeline.clock.advance(1)

    def search(self, query: str, most: int) -> list[Hit]:
        answer = self._embedder.embed([query], timeout_seconds=SEARCH_TIMEOUT_SECONDS)
        return self._pipeline.indexes[TARGET].search(answer.vectors[0], most=most)

    def dead_letters(self) -> list[LedgerRow]:
        names = [json.loads(body)["document_id"] for body in self._pipeline.queues.dead_letters()]
        return list(self.rows(names).values())

    def redrive(self) -> int:
        return self._pipeline.queues.redrive()

    def change_model(self) -> ModelChange:
        return MemoryModelChange(self._pipeline, self._source, self._target)
