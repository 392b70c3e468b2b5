"""The story on the real engines: everything through the stack's own AWS endpoint."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from functions.adapters.dynamodb_values import to_dynamodb
from functions.adapters.opensearch_search import Hit
from functions.core.identity import DocumentId, row_key
from functions.core.ledger_row import LedgerRow
from ops import dead_letters, searching
from ops.demo.provider import Provider
from ops.demo.world import DeadLetter
from ops.deployment import Deployment
from ops.statistics import queue_depth

TICK_SECONDS = 0.2


class LocalWorld:
    """A stack that runs on this machine, seen as an application and an operator see it."""

    def __init__(self, deployment: Deployment, model_origin: str) -> None:
        self._deployment = deployment
        self._dynamodb = deployment.client("dynamodb")
        self._sqs = deployment.client("sqs")
        self._source = deployment.source("articles")
        self._target = deployment.target("default")
        self._provider = Provider(model_origin)

    def put(self, item: Mapping[str, Any]) -> None:
        self._dynamodb.put_item(TableName=self._source.table, Item=to_dynamodb(item))

    def delete(self, document_id: str) -> None:
        self._dynamodb.delete_item(TableName=self._source.table, Key={"id": {"S": document_id}})

    def rows(self, ids: Sequence[str]) -> dict[str, LedgerRow]:
        keys = [row_key(self._target.name, self._source.name, DocumentId(name)) for name in ids]
        return {row.task.document_id: row for row in self._deployment.ledger.read(keys).values()}

    def tick(self) -> None:
        time.sleep(TICK_SECONDS)

    def search(self, query: str, most: int = 3) -> list[Hit]:
        return searching.find(self._deployment, query, most=most)

    def chunks_paid(self) -> int:
        return self._provider.chunks_paid()

    def dead_letters(self) -> list[DeadLetter]:
        urls = self._deployment.dead_letter_urls(self._target.name)
        if not any(queue_depth(self._sqs, url)[0] for url in urls):
            return []
        rows = dead_letters.failed_rows(self._deployment, self._target.name)
        return [DeadLetter(row.task.document_id, row.outcome.reason or "") for row in rows]

    def redrive(self) -> int:
        return dead_letters.redrive(self._deployment)

    def set_provider(self, *, down: bool, refuses_poison: bool) -> None:
        self._provider.set(down=down, refuses_poison=refuses_poison)
