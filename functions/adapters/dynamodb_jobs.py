"""Jobs, their segments and the proofs: small items beside the rows of the ledger's table."""

import json
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from functions.adapters.dynamodb_batch import batch_get
from functions.adapters.store_errors import store_failures
from functions.core.backfill_job import Job, JobState, Segment
from functions.core.names import CONTROL_PREFIX, OPEN_INDEX
from functions.core.proof import Proof

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# Where the sparse index lists all jobs, beside the groups of rows.
JOBS_SHARD = "job"
_JOB = TypeAdapter(Job)
_SEGMENT = TypeAdapter(Segment)
_PROOF = TypeAdapter(Proof)


class DynamoDbJobs:
    """Keeps jobs; those that have ended expire after some days, with their segments."""

    def __init__(self, client: "DynamoDBClient", table: str, *, kept_days: int) -> None:
        self._client = client
        self._table = table
        self._kept_seconds = kept_days * 24 * 3600

    def create(self, job: Job) -> None:
        for number in range(job.segments):
            self._put(_segment_item(replace(Segment.first(job, number), revision=1)), {})
        # Last: a job that is listed has all its segments.
        self._put(_job_item(job), {})

    def read(self, job: str) -> Job | None:
        items = list(self._get([_job_key(job)]))
        return _job(items[0]) if items else None

    def listed(self) -> list[Job]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName=OPEN_INDEX,
            KeyConditionExpression="open_shard = :shard",
            ExpressionAttributeValues={":shard": {"S": JOBS_SHARD}},
        )
        with store_failures(f"reading the index of table {self._table}"):
            keys = [item["row_key"]["S"] for page in pages for item in page["Items"]]
        found = map(_job, self._get(keys))
        return sorted(found, key=lambda job: job.created_ms, reverse=True)

    def segments(self, job: Job) -> list[Segment]:
        keys = [_segment_key(job.id, number) for number in range(job.segments)]
        found = [_SEGMENT.validate_json(item["data"]["S"]) for item in self._get(keys)]
        return sorted(found, key=lambda segment: segment.number)

    def save(self, segment: Segment, *, now_ms: int) -> Segment | None:
        saved = replace(segment, revision=segment.revision + 1, saved_ms=now_ms)
        return saved if self._put(_segment_item(saved), _at(segment.revision)) else None

    def set_state(
        self,
        job: str,
        state: JobState,
        *,
        before: Collection[JobState],
        now_ms: int,
        failure: str = "",
    ) -> bool:
        known = self.read(job)
        if known is None or known.state not in before:
            return False
        ended_ms = now_ms if state.has_ended else None
        item = _job_item(replace(known, state=state, ended_ms=ended_ms, failure=failure))
        expires_at = {"N": str(now_ms // 1000 + self._kept_seconds)}
        expiry = {"expires_at": expires_at} if state.has_ended else {}
        condition = {
            "ConditionExpression": "#status = :before",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": {":before": {"S": str(known.state)}},
        }
        if not self._put(item | expiry, condition):
            return False
        # Not before: of a job that goes on, a segment that is missing would count as done.
        for segment in self.segments(known) if expiry else ():
            self._put(_segment_item(segment) | expiry, _at(segment.revision))
        return True

    def _get(self, keys: list[str]) -> Any:
        return batch_get(self._client, self._table, [{"row_key": {"S": key}} for key in keys])

    def _put(self, item: dict[str, Any], condition: dict[str, Any]) -> bool:
        return put_if(self._client, self._table, item, condition)


class DynamoDbProofs:
    """Keeps how far the proof of each pair is."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, pair: str) -> Proof | None:
        keys = [{"row_key": {"S": _proof_key(pair)}}]
        items = list(batch_get(self._client, self._table, keys))
        return _PROOF.validate_json(items[0]["data"]["S"]) if items else None

    def save(self, pair: str, proof: Proof) -> bool:
        saved = replace(proof, revision=proof.revision + 1)
        item = {
            "row_key": {"S": _proof_key(pair)},
            "revision": {"N": str(saved.revision)},
            "data": {"S": json.dumps(asdict(saved))},
        }
        return put_if(self._client, self._table, item, _at(proof.revision))


def put_if(
    client: "DynamoDBClient", table: str, item: dict[str, Any], condition: dict[str, Any]
) -> bool:
    """Write an item under a condition; return whether it held."""
    with store_failures(f"writing table {table}"):
        try:
            client.put_item(TableName=table, Item=item, **condition)
        except client.exceptions.ConditionalCheckFailedException:
            return False
    return True


def _at(revision: int) -> dict[str, Any]:
    if not revision:
        return {"ConditionExpression": "attribute_not_exists(row_key)"}
    return {
        "ConditionExpression": "revision = :revision",
        "ExpressionAttributeValues": {":revision": {"N": str(revision)}},
    }


def _job_key(job: str) -> str:
    return f"{CONTROL_PREFIX}/job/{job}"


def _segment_key(job: str, number: int) -> str:
    return f"{CONTROL_PREFIX}/job/{job}/{number}"


def _proof_key(pair: str) -> str:
    return f"{CONTROL_PREFIX}/proof/{pair}"


def _job_item(job: Job) -> dict[str, Any]:
    return {
        "row_key": {"S": _job_key(job.id)},
        "open_shard": {"S": JOBS_SHARD},
        "due_ms": {"N": str(job.created_ms)},
        "status": {"S": str(job.state)},
        "data": {"S": json.dumps(asdict(job))},
    }


def _job(item: Any) -> Job:
    return _JOB.validate_json(item["data"]["S"])


def _segment_item(segment: Segment) -> dict[str, Any]:
    return {
        "row_key": {"S": _segment_key(segment.job, segment.number)},
        "revision": {"N": str(segment.revision)},
        "data": {"S": json.dumps(asdict(segment))},
    }
