"""The story without engines: the real functions and model on in-memory tables, queues and index."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from functions.adapters.opensearch_search import Hit
from functions.adapters.providers import make_embedder
from functions.core.ledger_row import LedgerRow
from functions.core.settings import SourceSettings, TargetSettings
from local.memory.pipeline import MemoryPipeline
from local.model.server import ModelServer
from ops.demo.provider import Provider
from ops.demo.world import DeadLetter

SEARCH_TIMEOUT_SECONDS = 30.0


class MemoryWorld:
    """Everything in one process; time moves when the story waits."""

    def __init__(self, server: ModelServer) -> None:
        target = TargetSettings(
            name="default",
            base_url=server.url,
            model="all-MiniLM-L6-v2",
            dimensions=384,
            chunk_tokens=120,
            index="articles",
        )
        source = SourceSettings(
            name="articles", table="articles", key=("id",), text="{title}\n\n{body}"
        )
        self._provider = Provider(server.origin)
        self._embedder = make_embedder(target, lambda _: "no key needed here")
        self._pipeline = MemoryPipeline([source], [target], embedders={"default": self._embedder})
        self._table = self._pipeline.tables["articles"]

    def put(self, item: Mapping[str, Any]) -> None:
        self._table.put(item)

    def delete(self, document_id: str) -> None:
        self._table.delete({"id": document_id})

    def rows(self, ids: Sequence[str]) -> dict[str, LedgerRow]:
        rows = {name: self._pipeline.row(name, source="articles") for name in ids}
        return {name: row for name, row in rows.items() if row is not None}

    def tick(self) -> None:
        self._pipeline.deliver_new()
        for queue in self._pipeline.queues.names:
            self._pipeline.run(queue)
        self._pipeline.clock.advance(1)

    def search(self, query: str, most: int = 3) -> list[Hit]:
        answer = self._embedder.embed([query], timeout_seconds=SEARCH_TIMEOUT_SECONDS)
        return self._pipeline.indexes["default"].search(answer.vectors[0], most=most)

    def chunks_paid(self) -> int:
        return self._provider.chunks_paid()

    def dead_letters(self) -> list[DeadLetter]:
        names = [json.loads(body)["document_id"] for body in self._pipeline.queues.dead_letters()]
        return [
            DeadLetter(name, row.outcome.reason or "") for name, row in self.rows(names).items()
        ]

    def redrive(self) -> int:
        return self._pipeline.queues.redrive()

    def set_provider(self, *, down: bool, refuses_poison: bool) -> None:
        self._provider.set(down=down, refuses_poison=refuses_poison)


@contextmanager
def memory_world() -> Iterator[MemoryWorld]:
    """Start the model server, and end it with the story."""
    with ModelServer("minilm") as server:
        yield MemoryWorld(server)
