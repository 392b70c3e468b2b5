"""The documents of a running stack, as an application writes them and an operator sees them."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from functions.adapters.dynamodb_values import to_dynamodb
from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp, segment
from functions.core.entry import Hit
from functions.core.identity import DocumentId, entry_id, row_key
from functions.core.ledger_row import LedgerRow, Status
from local.provider.faults import Fault
from ops import searching
from ops.demo.provider import Provider
from ops.deployment import Deployment
from tests.waiting import LIMIT_SECONDS, until


class Articles:
    """The source, target, lanes and provider of one stack; names of documents are never reused."""

    def __init__(self, deployment: Deployment, model_origin: str) -> None:
        self.deployment = deployment
        self.sqs = deployment.client("sqs")
        self._dynamodb = deployment.client("dynamodb")
        self._source = deployment.source("articles")
        self._target = deployment.target("default")
        self._provider = Provider(model_origin)
        # Commands only ask the index; tests also spoil it.
        address = deployment.outputs["IndexEndpoint"]
        self._index = OpenSearchHttp(address, credentials=None, region="none")

    @staticmethod
    def new_name(kind: str = "article") -> str:
        """Return a name that no other test uses."""
        return f"{kind}-{uuid.uuid4().hex[:8]}"

    def put(self, name: str, body: object, **attributes: Any) -> None:
        item = to_dynamodb({"id": name, "title": f"Title of {name}", "body": body, **attributes})
        self._dynamodb.put_item(TableName=self._source.table, Item=item)

    def delete(self, name: str) -> None:
        self._dynamodb.delete_item(TableName=self._source.table, Key={"id": {"S": name}})

    def rows(self, names: Sequence[str]) -> list[LedgerRow]:
        """Return the rows that exist."""
        keys = [row_key(self._target.name, self._source.name, DocumentId(name)) for name in names]
        return list(self.deployment.ledger.read(keys).values())

    def row(self, name: str) -> LedgerRow:
        [row] = self.rows([name])
        return row

    def wait(
        self,
        *names: str,
        status: Status = Status.COMPLETED,
        above: int = 0,
        limit_seconds: float = LIMIT_SECONDS,
    ) -> list[LedgerRow]:
        """Wait until all rows have this status, at a version above the given one."""

        def arrived() -> bool:
            rows = self.rows(names)
            return len(rows) == len(names) and all(
                row.status is status and row.task.version > above for row in rows
            )

        until(arrived, f"{', '.join(names[:3])} {status}", seconds=limit_seconds)
        return self.rows(names)

    def indexed(self, name: str, body: str, **attributes: Any) -> LedgerRow:
        """Write a new document and wait until it is indexed."""
        self.put(name, body, **attributes)
        [row] = self.wait(name)
        return row

    def entry(self, name: str) -> Mapping[str, Any] | None:
        """Return what the index holds for a document, with its version."""
        query = {"_source_excludes": "chunks.vector"}
        try:
            found = self._index.call("GET", self._path(name), query=query)
        except OpenSearchError as error:
            if error.status == 404:
                return None
            raise
        return {**found["_source"], "version": found["_version"]}

    def remove_entry(self, name: str) -> None:
        """Take an entry out of the index, as nobody should."""
        self._index.call("DELETE", self._path(name))

    def add_entry(self, name: str) -> None:
        """Put an entry into the index that no item asks for."""
        body = {"source": self._source.name, "document_id": name, "deleted": False}
        self._index.call("PUT", self._path(name), body)

    def spoil_entry(self, name: str, **fields: Any) -> None:
        """Change fields of an entry without its version, which is external, and raise that."""
        path = self._path(name)
        found = self._index.call("GET", path)
        query = {"version": str(found["_version"] + 1), "version_type": "external"}
        self._index.call("PUT", path, {**found["_source"], **fields}, query=query)

    def text(self, name: str) -> str | None:
        """Return the text that the index holds, None for a document that cannot be found."""
        entry = self.entry(name)
        if entry is None or entry["deleted"]:
            return None
        return "".join(chunk["text"] for chunk in entry["chunks"])

    def found(self, query: str, *filters: str) -> list[Hit]:
        """Search as the command line does."""
        return searching.find(self.deployment, query, most=10, filters=filters)

    def break_provider(self, *faults: Fault) -> None:
        """Put these faults in force instead of all others; none heals it."""
        self._provider.set_faults(*faults)

    def requests(self) -> int:
        """Count what the provider was asked."""
        return self._provider.requests()

    def paid(self) -> int:
        """Count the chunks that were paid for."""
        return self._provider.chunks_paid()

    def lane(self, name: str) -> str:
        """Return the URL of a lane."""
        return self.deployment.queues[self._target.name][name]

    def depth(self, lane: str) -> tuple[int, int]:
        """Return how many messages of a lane wait, and how many are in flight."""
        return self.deployment.depth(self.lane(lane))

    @property
    def dead_letters(self) -> str:
        """Return the URL of the FIFO dead letters."""
        return self.deployment.dead_letter_urls(self._target.name)[0]

    def take_dead_letters(self, count: int) -> list[str]:
        """Wait for so many dead letters, take them out and return their bodies."""
        until(lambda: self.deployment.depth(self.dead_letters)[0] >= count, "the dead letters")
        taken = self.sqs.receive_message(QueueUrl=self.dead_letters, MaxNumberOfMessages=10)
        for message in taken["Messages"]:
            self.sqs.delete_message(
                QueueUrl=self.dead_letters, ReceiptHandle=message["ReceiptHandle"]
            )
        return [message["Body"] for message in taken["Messages"]]

    def forget_dead_letters(self) -> None:
        """Empty the queues of dead letters: the stack is shared, and other tests count theirs."""
        for url in self.deployment.dead_letter_urls(self._target.name):
            self.sqs.purge_queue(QueueUrl=url)

    def _path(self, name: str) -> str:
        id_ = entry_id(self._source.name, DocumentId(name))
        return f"{segment(self._target.index)}/_doc/{segment(id_)}"
