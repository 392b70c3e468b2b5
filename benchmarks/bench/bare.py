"""What the same work costs without embedq: a loop, and the calls that a function must make.

A program, in one process and one thread: texts to vectors to the index, with and without two
conditional writes for each document, one by one; then only the calls, for their CPU time. It writes
into a table and an index of its own, in the same engines, and prints its figures as JSON.
"""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import orjson
import urllib3
from numpy.typing import NDArray

from benchmarks.bench.documents import make_item
from benchmarks.bench.site import Site
from functions.adapters.aws_clients import CLIENT_CONFIG
from functions.adapters.dynamodb_statements import MAX_STATEMENTS
from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.core.batches import batches
from functions.core.failure import FailureError
from functions.core.lane import Lane
from functions.index_setup.ensure import IndexSpec, ensure_index
from local.aws_client import local_session
from local.engines.dynamodb import DynamoDb
from local.engines.elasticmq import ElasticMq

NAME = "bare"
TOGETHER = 100  # documents of a request, of a bulk body and of a read
SQS_BATCH = 10
ROW_BYTES = 600
WARM_DOCUMENTS = 100


@dataclass(frozen=True)
class Place:
    """Where the program finds what it calls."""

    dynamodb: str  # the engine itself, as functions ask it
    sqs: str
    provider: str
    index: str
    queue: str
    model: str
    dimensions: int
    documents: int


@dataclass(frozen=True)
class Bare:
    """What the program came to."""

    loop_per_second: float  # no writes but those to the index
    writing_per_second: float  # and two conditional writes a document, one by one
    embed_ms: float  # CPU of a document: 2 writes one by one, 2 reads in batches, bulk body
    embed_together_ms: float  # the same, with as many writes in a request as the ledger has
    enqueue_ms: float  # CPU of a document: a write, and its share of a batch to the queue
    request_seconds: float  # of the provider, ten texts


def measure(site: Site, documents: int) -> Bare:
    """Make the table and the index, run the program, and remove them."""
    settings = site.embed_settings
    target = settings.target
    client = site.deployment.client("dynamodb")
    client.create_table(
        TableName=NAME,
        KeySchema=[{"AttributeName": "row_key", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "row_key", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    queue = site.deployment.client("sqs").create_queue(QueueName=NAME)["QueueUrl"]
    spec = IndexSpec(NAME, target.model, target.dimensions, {})
    ensure_index(spec, OpenSearchAdmin(site.http))
    place = Place(
        dynamodb=site.engine_url(DynamoDb),
        sqs=site.engine_url(ElasticMq),
        provider=f"{target.base_url}/embeddings",
        index=f"{site.stack.opensearch_url}/{NAME}/_bulk",
        queue=queue,
        model=target.model,
        dimensions=target.dimensions,
        documents=documents,
    )
    command = [sys.executable, "-m", "benchmarks.bench.bare", json.dumps(asdict(place))]
    try:
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    finally:
        client.delete_table(TableName=NAME)
        # A busy machine may answer late; nothing that follows depends on it.
        with suppress(FailureError):
            site.http.call("DELETE", spec.index)
    return Bare(**json.loads(printed))


class Program:
    """The calls, as plain as they can be."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._http = urllib3.PoolManager()
        session = local_session()
        self._sqs: Any = session.client("sqs", endpoint_url=place.sqs, config=CLIENT_CONFIG)
        self._dynamodb: Any = session.client(
            "dynamodb", endpoint_url=place.dynamodb, config=CLIENT_CONFIG
        )
        self._round = 0

    def figures(self) -> Bare:
        """Measure each part, after a short one that warms it up."""
        number = self._place.documents
        parts: list[Callable[[Sequence[str]], None]] = [
            self._loop,
            lambda names: self._loop(names, self._dynamodb),
        ]
        for part in parts:
            part(self._names(WARM_DOCUMENTS))
        rates = [number / _seconds(part, self._names(number)) for part in parts]
        vectors = self._embed(list(self._texts(self._names(TOGETHER))))
        names = self._names(number)
        sends = _cpu_ms(self._enqueue_calls, names)
        # The rows are there: enqueue has written them.
        calls = _cpu_ms(lambda names: self._embed_calls(names, vectors, 2, _write_each), names)
        together = _cpu_ms(lambda names: self._embed_calls(names, vectors, 4, _replace), names)
        few = list(self._texts(self._names(SQS_BATCH)))
        times = sorted(_seconds(self._embed, few) for _ in range(9))
        return Bare(rates[0], rates[1], calls, together, sends, times[len(times) // 2])

    def _names(self, number: int) -> list[str]:
        self._round += 1
        return [f"bare-{self._round}-{one}" for one in range(number)]

    def _texts(self, names: Sequence[str]) -> Iterator[str]:
        return (make_item(name, Lane.BULK)["body"] for name in names)

    def _loop(self, names: Sequence[str], client: Any = None) -> None:
        for part in batches(names, TOGETHER):
            if client:
                _write_each(client, part, 1)
            texts = list(self._texts(part))
            self._index(part, texts, self._embed(texts))
            if client:
                _write_each(client, part, 2)

    def _embed_calls(
        self,
        names: Sequence[str],
        vectors: NDArray[np.float32],
        revision: int,
        write: Callable[[Any, Sequence[str], int], None],
    ) -> None:
        """Make the calls of embed: it reads the row and the item, writes twice, and indexes."""
        for part in batches(names, TOGETHER):
            keys = [{"row_key": {"S": name}} for name in part]
            for _ in ("row", "item"):
                wanted = {NAME: {"Keys": keys, "ConsistentRead": True}}
                self._dynamodb.batch_get_item(RequestItems=wanted)
            write(self._dynamodb, part, revision)
            self._index(part, list(self._texts(part)), vectors[: len(part)])
            write(self._dynamodb, part, revision + 1)

    def _enqueue_calls(self, names: Sequence[str]) -> None:
        """Make the calls of enqueue: it writes the row, and sends ten tasks at a time."""
        for part in batches(names, SQS_BATCH):
            for name in part:
                _write(self._dynamodb, name, 1)
            entries = [{"Id": str(n), "MessageBody": "x" * 200} for n in range(len(part))]
            self._sqs.send_message_batch(QueueUrl=self._place.queue, Entries=entries)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = {
            "model": self._place.model,
            "input": texts,
            "encoding_format": "base64",
            "dimensions": self._place.dimensions,
        }
        headers = {"content-type": "application/json", "authorization": "Bearer any"}
        answer = self._http.request(
            "POST", self._place.provider, body=orjson.dumps(body), headers=headers
        )
        found = [base64.b64decode(one["embedding"]) for one in orjson.loads(answer.data)["data"]]
        return np.frombuffer(b"".join(found), np.float32).reshape(len(texts), -1)

    def _index(
        self, names: Sequence[str], texts: Sequence[str], vectors: NDArray[np.float32]
    ) -> None:
        lines = [
            line
            for name, text, vector in zip(names, texts, vectors, strict=True)
            for line in (
                orjson.dumps({"index": {"_id": name}}),
                orjson.dumps(
                    {"document_id": name, "chunks": [{"text": text, "vector": vector}]},
                    option=orjson.OPT_SERIALIZE_NUMPY,
                ),
            )
        ]
        headers = {"content-type": "application/x-ndjson"}
        body = b"\n".join([*lines, b""])
        answer = self._http.request("POST", self._place.index, body=body, headers=headers)
        if orjson.loads(answer.data)["errors"]:
            raise SystemExit(f"the index did not take all: {answer.data[:500]!r}")


def _write(client: Any, name: str, revision: int) -> None:
    """Write a row over the one before it, as long as nobody else has."""
    condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(row_key)"}
    if revision > 1:
        condition = {
            "ConditionExpression": "revision = :before",
            "ExpressionAttributeValues": {":before": {"N": str(revision - 1)}},
        }
    row = {"row_key": {"S": name}, "revision": {"N": str(revision)}, "x": {"S": "x" * ROW_BYTES}}
    client.put_item(TableName=NAME, Item=row, **condition)


def _write_each(client: Any, names: Sequence[str], revision: int) -> None:
    for name in names:
        _write(client, name, revision)


def _replace(client: Any, names: Sequence[str], revision: int) -> None:
    """Do the same with many rows in a request."""
    update = f'UPDATE "{NAME}" SET revision=? SET x=? WHERE row_key=? AND revision=?'
    for part in batches(names, MAX_STATEMENTS):
        statements = [
            {
                "Statement": update,
                "Parameters": [
                    {"N": str(revision)},
                    {"S": "x" * ROW_BYTES},
                    {"S": name},
                    {"N": str(revision - 1)},
                ],
            }
            for name in part
        ]
        answers = client.batch_execute_statement(Statements=statements)["Responses"]
        if any("Error" in answer for answer in answers):
            raise SystemExit(f"the table did not take all: {answers!r:.500}")


def _seconds(part: Callable[[Any], object], names: Sequence[str]) -> float:
    began = time.perf_counter()
    part(names)
    return time.perf_counter() - began


def _cpu_ms(part: Callable[[Any], object], names: Sequence[str]) -> float:
    began = time.process_time()
    part(names)
    return 1000 * (time.process_time() - began) / len(names)


if __name__ == "__main__":
    print(json.dumps(asdict(Program(Place(**json.loads(sys.argv[1]))).figures())))
