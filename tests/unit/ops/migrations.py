"""A stack whose target `next` replaces `default`: its tables are moto's, its indexes in memory."""

import io
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from functions.adapters.dynamodb_values import from_dynamodb, to_dynamodb
from functions.adapters.opensearch_http import OpenSearchError
from functions.core.backfill_job import Estimate, Job, JobState, Only
from functions.core.document import Document, content_hash, read_document
from functions.core.identity import DocumentId, bucket_of, entry_id
from functions.core.lane import lanes_of
from functions.core.ledger_row import Status
from functions.core.names import first_index
from functions.core.settings import RetentionSettings, TargetSettings
from infrastructure.names import pascal
from ops.deployment import Deployment
from ops.jobs import jobs_of
from tests.builders import NOW_MS, make_row, make_source, make_target

SOURCE = make_source(targets=("default", "next"))
OLD = make_target(index="old")
NEW = make_target(name="next", index="new", replaces="default")

Finds = Callable[[dict[str, Any]], list[str]]


def item(name: str, edition: str = "") -> dict[str, Any]:
    body = f"This is the only long sentence{edition} of document {name}."
    return to_dynamodb({"id": name, "title": "T", "body": body})


def last_word(asked: Mapping[str, Any]) -> str:
    """Name the document that a question was taken from."""
    return str(asked["query"]).rstrip(".").split()[-1]


class Stack:
    """Both indexes with their aliases, the functions that ask them, and the deployment."""

    def __init__(
        self, deployment: Deployment, documents: tuple[str, ...] = ("a", "b", "c")
    ) -> None:
        self.held = {
            target.index: {name: item(name) for name in documents} for target in (OLD, NEW)
        }
        self.lost: set[str] = set()
        # By target: the index that its read alias stands for.
        self.answers = {one.name: first_index(one.index) for one in (OLD, NEW)}
        self.finds: Finds = self._found_by_text
        self.notes: tuple[str, ...] = ()
        self.asked: list[dict[str, Any]] = []
        self.deployment = replace(
            deployment,
            outputs={
                **deployment.outputs,
                **_queues(deployment),
                "SourceArticlesSettings": SOURCE.model_dump_json(),
                "TargetDefaultSettings": OLD.model_dump_json(),
                "TargetNextSettings": NEW.model_dump_json(),
                "Stage": "test",
                "Retention": RetentionSettings().model_dump_json(),
                "SearchFunction": "search",
                "IndexSetupFunction": "index_setup",
            },
        )
        vars(self.deployment).update(lambda_=self, index=self)
        for name in documents:
            self.put(name)

    def put(self, name: str, edition: str = "") -> None:
        """Write an item to the table alone."""
        self.deployment.dynamodb.put_item(TableName=SOURCE.table, Item=item(name, edition))

    def delete(self, name: str) -> None:
        key = to_dynamodb({"id": name})
        self.deployment.dynamodb.delete_item(TableName=SOURCE.table, Key=key)

    def row(self, name: str, status: Status, target: str = "next", **more: Any) -> None:
        """Let the ledger have a row of a document, in place of another."""
        row = make_row(target=target, document_id=DocumentId(name), status=status, **more)
        old = self.deployment.ledger.read([row.row_key]).get(row.row_key)
        self.deployment.ledger.write([replace(row, revision=old.revision if old else 0)])

    def job(self, state: JobState, target: str = "next") -> str:
        """Keep a backfill in a state; return its id."""
        only = Only.MISSING
        estimate = Estimate(items=1, documents=1, tokens=1)
        job = Job("job-1", SOURCE.name, target, only, 1, "me", "", NOW_MS, estimate, state)
        jobs_of(self.deployment).create(job)
        return job.id

    def lose(self, target: TargetSettings) -> None:
        """Lose an index, and with it the aliases that stand for it."""
        self.lost.add(target.index)
        index = first_index(target.index)
        self.answers = {name: one for name, one in self.answers.items() if one != index}

    # What OpenSearch answers.

    def call(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None
    ) -> Any:
        del method, query
        index, _, action = path.partition("/")
        if index in self.lost:
            raise OpenSearchError(404, "index_not_found_exception", f"no such index [{index}]")
        if action == "_mget":
            target = {one.index: one for one in (OLD, NEW)}[index]
            entries = [_entry(name, one, target) for name, one in self.held[index].items()]
            docs = {one["_id"]: one for one in entries}
            absent = {name: {"_id": name, "found": False} for name in body["ids"]}
            return {"docs": [docs.get(name, none) for name, none in absent.items()]}
        if action == "_count":
            return {"count": len(self.held[index])}
        if "aggs" in (body or {}):
            return {"aggregations": {"buckets": {"buckets": self._buckets(index)}}}
        return {"hits": {"hits": []}}

    def _buckets(self, index: str) -> list[dict[str, Any]]:
        counts = Counter(
            bucket_of(entry_id(SOURCE.name, DocumentId(name))) for name in self.held[index]
        )
        rest = {
            "check": {"value": 0},
            "versions": {"value": 0},
            "without_vectors": {"doc_count": 0},
        }
        return [{"key": key, "doc_count": count, **rest} for key, count in counts.items()]

    # What the functions answer.

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        asked = json.loads(Payload)
        answer = {"search": self._search, "index_setup": self._alias}[FunctionName](asked)
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def get_event_source_mapping(self, UUID: str) -> dict[str, Any]:
        del UUID
        return {"State": "Enabled", "BatchSize": 10}

    def _alias(self, asked: dict[str, Any]) -> dict[str, Any]:
        before = self.answers.get("default")
        if asked.get("to") in self.lost:
            reason = f"OpenSearch has no index behind {asked['to']}"
            return {"refused": {"status": 403, "kind": "not_allowed", "reason": reason}}
        if "to" in asked:
            self.answers["default"] = first_index(asked["to"])
        return {"answer": {"before": before, "after": self.answers.get("default")}}

    def _search(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(asked)
        if asked["target"] not in self.answers:
            return {"error": {"status": 503, "message": "there is no index to ask"}}
        return {
            "results": [_result(name) for name in self.finds(asked)],
            "mode": "text" if self.notes else asked["mode"],
            "index": self.answers[asked["target"]],
            "notes": self.notes,
        }

    def _found_by_text(self, asked: dict[str, Any]) -> list[str]:
        """Find the document whose text holds the question, as its index has it."""
        index = self.answers[asked["target"]].removesuffix("-1")
        # Several questions are asked at a time, and one of them may write.
        entries = dict(self.held.get(index, {}))
        held = {name: from_dynamodb(one)["body"] for name, one in entries.items()}
        return [name for name, body in held.items() if asked["query"] in body]


def _queues(deployment: Deployment) -> dict[str, str]:
    """Make the queues of the new target; name the mappings of both."""
    found = {}
    for lane, _ in lanes_of([]):
        url = deployment.sqs.create_queue(QueueName=f"next-{lane}")["QueueUrl"]
        found[f"TargetNextLane{lane.capitalize()}Url"] = url
        for target in ("default", "next"):
            found[pascal("target", target, "lane", lane, "mapping-id")] = f"{target}-{lane}"
    for kind in ("Fifo", "Standard"):
        url = deployment.sqs.create_queue(QueueName=f"next-dead-{kind}")["QueueUrl"]
        found[f"TargetNextDeadLetters{kind}Url"] = url
    return found


def _entry(name: str, held: Any, target: TargetSettings) -> dict[str, Any]:
    content = read_document(from_dynamodb(held), SOURCE)
    assert isinstance(content, Document)
    source = {"deleted": False, "content_hash": content_hash(content, target)}
    id_ = entry_id(SOURCE.name, DocumentId(name))
    return {"_id": id_, "found": True, "_version": 1, "_source": source}


def _result(name: str) -> dict[str, Any]:
    return {
        "source": SOURCE.name,
        "document": name,
        "type": "article",
        "score": 1.0,
        "passage": {"text": ""},
        "metadata": {},
    }
