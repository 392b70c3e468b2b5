"""A stack for the console without engines: moto's tables and queues, an index in memory.

Its functions are answered in this process: search by the real step, questions to the index by the
few forms that commands send.
"""

import io
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
import numpy as np
from botocore.config import Config
from moto import mock_aws

from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.document import content_hash, read_document
from functions.core.entry import Chunk, Entry, Tombstone
from functions.core.failure import FailureKind
from functions.core.identity import DocumentId
from functions.core.lane import lanes_of
from functions.core.ledger_row import ErrorRecord, LedgerRow, Status
from functions.core.names import first_index, read_alias
from functions.core.search import SearchRequest, ServedIndex
from functions.core.settings import BudgetSettings, RetentionSettings
from functions.search.process import Search, SearchError
from local.endpoint.move_tasks import MoveTasks
from local.memory.index import HashedEmbedder, MemoryIndex, MemorySearch
from ops.deployment import Deployment
from tests.builders import make_row, make_source, make_target
from tests.console.memory_metrics import MemoryMetrics
from tests.ledger_table import create_ledger_table

REGION = "us-east-1"
SOURCE = make_source(
    text="{title}\n\n{body}", metadata={"author": "keyword"}, type_attribute="type"
)
TARGET = make_target(budget=BudgetSettings(tokens_per_day=2_000_000))
MAPPING = {"State": "Enabled", "BatchSize": 10, "ScalingConfig": {"MaximumConcurrency": 4}}


class Functions:
    """A client of Lambda: the functions of the stack, and the states of their mappings."""

    def __init__(self, index: MemoryIndex) -> None:
        self.index = index
        self.down: str | None = None  # what the provider answers to a probe
        self._embedder = HashedEmbedder(TARGET.dimensions)
        name = first_index(TARGET.index)
        served = {read_alias(TARGET.index): ServedIndex(name, TARGET.model, TARGET.dimensions)}
        self._search = Search(
            index=MemorySearch({name: index}, served),
            vector_of=lambda _, words: self._embedder.embed([words], timeout_seconds=1).vectors[0],
            why_stopped=lambda _: None,
            targets={TARGET.name: TARGET},
            sources=[SOURCE],
        )

    def get_event_source_mapping(self, UUID: str) -> dict[str, Any]:
        del UUID
        return MAPPING

    def invoke(self, FunctionName: str, Payload: bytes | str) -> dict[str, Any]:
        asked = json.loads(Payload)
        answer = getattr(self, f"_{FunctionName}")(asked)
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def _embed(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {part: self.down if part == "provider" else None for part in asked["probe"]}

    def _found(self, asked: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._search.answer(SearchRequest.model_validate(asked))
        except SearchError as error:
            return {"error": {"status": error.status, "message": str(error)}}
        return answer.model_dump(mode="json")

    def _query(self, asked: dict[str, Any]) -> dict[str, Any]:
        action, body = asked["path"].rsplit("/", 1)[1], asked["body"]
        if action == "_count":
            return {
                "answer": {"count": sum(map(_filter(body["query"]), self.index.entries.items()))}
            }
        if action == "_mget":
            found = self.index.read(body["ids"])
            return {"answer": {"docs": [_doc(name, one) for name, one in found.items()]}}
        if action == "_search" and "aggs" in body:
            sums = self.index.sums(SOURCE.name)
            return {
                "answer": {"aggregations": {"buckets": {"buckets": list(map(_sum, sums.items()))}}}
            }
        return {"answer": {"hits": {"hits": []}}}


class QueuesThatMove:
    """moto's queues, with the redrive that moto lacks: that of one-machine mode."""

    def __init__(self, sqs: Any) -> None:
        self._sqs = sqs
        self._moves = MoveTasks(sqs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sqs, name)

    def list_message_move_tasks(self, SourceArn: str, MaxResults: int) -> dict[str, Any]:
        return {"Results": self._moves.newest(SourceArn, limit=MaxResults)}

    def start_message_move_task(
        self, SourceArn: str, MaxNumberOfMessagesPerSecond: int | None = None
    ) -> None:
        self._moves.start(
            source_arn=SourceArn, destination_arn=None, per_second=MaxNumberOfMessagesPerSecond
        )

    def cancel_message_move_task(self, TaskHandle: str) -> dict[str, int]:
        return {"ApproximateNumberOfMessagesMoved": self._moves.cancel(TaskHandle)}

    def close(self) -> None:
        self._moves.close()


@dataclass
class MemoryStack:
    """A deployment with documents in any state."""

    deployment: Deployment
    functions: Functions
    metrics: MemoryMetrics

    def indexed(self, name: str, title: str, body: str, **metadata: Any) -> None:
        """Put a document into table, ledger and index, as if it had been worked."""
        now_ms = time.time_ns() // 1_000_000
        text = f"{title}\n\n{body}"
        embedded = HashedEmbedder(TARGET.dimensions).embed([text], timeout_seconds=1)
        vector = np.asarray(embedded.vectors[0], dtype=np.float32)
        item = {"id": name, "title": title, "body": body, **metadata}
        self.deployment.dynamodb.put_item(TableName=SOURCE.table, Item=to_dynamodb(item))
        document = read_document(item, SOURCE)
        entry = Entry(
            source=SOURCE.name,
            document_id=DocumentId(name),
            version=now_ms,
            content_hash=content_hash(document, TARGET),
            type="document",
            metadata=metadata,
            chunks=(Chunk(text, "hash", vector, 0),),
            written_ms=now_ms - 2500,
            model=TARGET.model,
        )
        self.functions.index.write([entry], searchable_now=True)
        self.row(
            name,
            Status.COMPLETED,
            version=now_ms,
            attempts=1,
            max_attempts=5,
            last_attempt_ms=now_ms - 700,
            completed_ms=now_ms,
            chunks_done=1,
            tokens=len(text) // 4,
            model=TARGET.model,
        )
        self.metrics.put("FreshnessMilliseconds", 1800 + 7 * len(text))
        self.metrics.put("TokensPaid", len(text) // 4)
        self.metrics.put("DollarsPaid", len(text) // 4 * 2e-8)

    def failed(
        self, name: str, message: str, *, kind: FailureKind = FailureKind.INVALID_INPUT, **more: Any
    ) -> None:
        """Give a document up."""
        at_ms = more.pop("at_ms", time.time_ns() // 1_000_000)
        row = self.row(
            name,
            Status.FAILED,
            reason=f"{kind}: {message}",
            failed_ms=at_ms,
            last_attempt_ms=at_ms,
            attempts=1,
            max_attempts=5,
            errors=(ErrorRecord(at_ms, kind, message),),
            **more,
        )
        self.deployment.sqs.send_message(
            QueueUrl=self.deployment.dead_letter_urls(TARGET.name)[0],
            MessageBody=row.task.to_json(),
            MessageGroupId=name,
            MessageDeduplicationId=name,
        )

    def row(self, name: str, status: Status, **fields: Any) -> LedgerRow:
        """Write a new row of the ledger."""
        now_ms = time.time_ns() // 1_000_000
        times = {
            "created_ms": now_ms - 2300,
            "queued_ms": now_ms - 2200,
            "written_ms": now_ms - 2500,
        }
        row = make_row(
            revision=0,
            document_id=DocumentId(name),
            key={"id": {"S": name}},
            status=status,
            **{"version": now_ms} | times | fields,
        )
        self.deployment.ledger.write([row])
        return row


@contextmanager
def memory_stack() -> Iterator[MemoryStack]:
    """Return a stack with one source and one target, and nothing in it."""
    with mock_aws():
        session = boto3.Session("testing", "testing", region_name=REGION)
        index = MemoryIndex(TARGET.dimensions)
        functions = Functions(index)
        queues = QueuesThatMove(session.client("sqs"))
        metrics = MemoryMetrics("dev")
        own = {"lambda": functions, "sqs": queues, "cloudwatch": metrics}

        class Connected(Deployment):
            def client(self, service: Any, config: Config | None = None) -> Any:
                return own[service] if service in own else super().client(service, config)

        arn = f"arn:aws:cloudformation:{REGION}:123456789012:stack/embedq-dev/1"
        deployment = Connected(_outputs(session), session, stack_arn=arn)
        yield MemoryStack(deployment, functions, metrics)
        queues.close()


def _outputs(session: boto3.Session) -> dict[str, str]:
    sqs = session.client("sqs")
    dynamodb = session.client("dynamodb")
    dynamodb.create_table(
        TableName=SOURCE.table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )
    create_ledger_table(dynamodb, "ledger")
    session.client("s3").create_bucket(Bucket="stash")
    fifo = sqs.create_queue(QueueName="dead.fifo", Attributes={"FifoQueue": "true"})
    outputs = {
        "SourceArticlesSettings": SOURCE.model_dump_json(),
        "SourceArticlesMappingId": "stream",
        "TargetDefaultSettings": TARGET.model_dump_json(),
        "TargetDefaultEmbedFunction": "embed",
        "TargetDefaultDeadLettersFifoUrl": fifo["QueueUrl"],
        "TargetDefaultDeadLettersStandardUrl": sqs.create_queue(QueueName="dead")["QueueUrl"],
        "ErrandsQueueUrl": sqs.create_queue(QueueName="embedq-dev-errands")["QueueUrl"],
        "LedgerTable": "ledger",
        "StashBucket": "stash",
        "QueryFunction": "query",
        "SearchFunction": "found",
        "Retention": RetentionSettings().model_dump_json(),
    }
    for lane, _ in lanes_of([]):
        attributes: Any = {"FifoQueue": "true"} if lane.is_fifo else {}
        name = f"{lane}.fifo" if lane.is_fifo else str(lane)
        queue = sqs.create_queue(QueueName=name, Attributes=attributes)
        outputs[f"TargetDefaultLane{lane.capitalize()}Url"] = queue["QueueUrl"]
        outputs[f"TargetDefaultLane{lane.capitalize()}MappingId"] = str(lane)
    return outputs


def _filter(query: dict[str, Any]) -> Any:
    """Return whether an entry is one that these filters of a count mean."""

    def means(item: tuple[str, Entry | Tombstone]) -> bool:
        name, entry = item
        is_deleted = isinstance(entry, Tombstone)
        at_ms = entry.deleted_ms if isinstance(entry, Tombstone) else entry.written_ms
        for one in query["bool"]["filter"]:
            match one:
                case {"term": {"deleted": wanted}} if wanted != is_deleted:
                    return False
                case {"range": {"written_ms": {"gte": since}}} if at_ms < since:
                    return False
                case {"ids": {"values": ids}} if name not in ids:
                    return False
        return True

    return means


def _doc(name: str, one: Any) -> dict[str, Any]:
    source = {
        "deleted": one.deleted,
        "content_hash": one.content_hash,
        "document_id": one.document_id,
        "model": one.model,
        "written_ms": one.written_ms,
    }
    return {"_id": name, "found": True, "_version": one.version, "_source": source}


def _sum(item: tuple[int, Any]) -> dict[str, Any]:
    bucket, found = item
    return {
        "key": bucket,
        "doc_count": found.count,
        "check": {"value": found.check},
        "versions": {"value": found.versions},
        "without_vectors": {"doc_count": found.without_vectors},
    }
