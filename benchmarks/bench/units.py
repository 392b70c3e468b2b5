"""What a new document is billed: units of DynamoDB, calls of SQS and EventBridge, index reads.

Enqueue and embed run on the engines with full batches; their own calls are counted at the SDK.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.bench.documents import make_item
from benchmarks.bench.metered import Function, metered
from benchmarks.bench.row import Row
from benchmarks.bench.site import Site
from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.batches import batches
from functions.core.lane import Lane
from functions.embed.receive import ROUND_DOCUMENTS
from local.aws_client import REGION, local_arn
from local.runner.place import RunnerPlace
from local.runner.queue_source import RECEIVE_LIMIT, queue_record
from local.stages import CHECKOUT

STREAM_BATCH = 100
RECEIVE_SECONDS = 2
SQS_CALLS = ("sqs SendMessageBatch", "sqs ChangeMessageVisibilityBatch", "sqs SendMessage")


@dataclass(frozen=True)
class Counted:
    """What one document of a lane took of each, on average."""

    documents: int
    enqueue: Mapping[str, float]
    embed: Mapping[str, float]

    def each(self, *names: str) -> float:
        """Return how often one document needs these calls or units."""
        total = sum(part.get(name, 0.0) for part in (self.enqueue, self.embed) for name in names)
        return total / self.documents

    @property
    def read_units(self) -> float:
        """Count what does not exist as one unit: DynamoDB bills it, its local engine does not."""
        return self.each("read units") + self.each("keys") - self.each("items")


def count(site: Site, lane: Lane, documents: int, *, has_events: bool = True) -> Counted:
    """Let the two functions work so many new documents; no mapping may feed them meanwhile."""
    names = [f"units-{lane}-{time.time_ns()}-{number}" for number in range(documents)]
    site.write(names, lane)
    place = RunnerPlace(
        site.folder / "metered",
        sqs_url="",
        dynamodb_url="",
        aws_url=site.stack.endpoint_url,
        code_root=CHECKOUT / "build" / "local",
    )
    enqueue, embed = site.function("enqueue"), site.function("embed")
    if not has_events:
        embed = replace(embed, environment={**embed.environment, "EVENT_BUS": ""})
    log = site.folder / f"metered-{lane}.log"
    with metered(enqueue, place, log) as function:
        found = _sum(function.run(event) for event in _stream_events(site, names, lane))
    with metered(embed, place, log) as function:
        worked = _sum(_work(site, function, lane, documents))
    return Counted(documents, found, worked)


def _sum(parts: Iterator[Mapping[str, float]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def _stream_events(site: Site, names: Sequence[str], lane: Lane) -> Iterator[dict[str, Any]]:
    """Make the events that Lambda would make of the stream, in full batches."""
    table = site.deployment.source(None).table
    arn = f"{local_arn('dynamodb', f'table/{table}')}/stream/2026-01-01T00:00:00.000"
    first = time.time_ns()
    for part in batches(list(enumerate(names, first)), STREAM_BATCH):
        yield {
            "Records": [
                {
                    "eventID": f"event-{number}",
                    "eventName": "INSERT",
                    "eventVersion": "1.1",
                    "eventSource": "aws:dynamodb",
                    "awsRegion": REGION,
                    "dynamodb": {
                        "ApproximateCreationDateTime": int(time.time()),
                        "Keys": {"id": {"S": name}},
                        "NewImage": to_dynamodb(make_item(name, lane)),
                        "SequenceNumber": str(number),
                        "StreamViewType": "NEW_IMAGE",
                    },
                    "eventSourceARN": arn,
                }
                for number, name in part
            ]
        }


def _work(
    site: Site, function: Function, lane: Lane, documents: int
) -> Iterator[Mapping[str, float]]:
    """Hand the messages of a lane to embed in full batches, as Lambda does with a backlog."""
    client, url = site.deployment.client("sqs"), site.embed_settings.queues[str(lane)]
    arn = local_arn("sqs", site.lane(lane).queue)
    left = documents
    while left:
        records: list[Any] = []
        while len(records) < min(lane.traits.batch_size, left):
            answer = client.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=min(RECEIVE_LIMIT, lane.traits.batch_size - len(records)),
                WaitTimeSeconds=RECEIVE_SECONDS,
                MessageSystemAttributeNames=["All"],
            )
            found = answer.get("Messages", [])
            if not found:
                raise RuntimeError(f"{left - len(records)} messages are missing in {lane}")
            records += [queue_record(message, arn=arn) for message in found]
        yield function.run({"Records": records})
        for part in batches(records, RECEIVE_LIMIT):
            entries = [
                {"Id": str(n), "ReceiptHandle": one["receiptHandle"]} for n, one in enumerate(part)
            ]
            client.delete_message_batch(QueueUrl=url, Entries=entries)
        left -= len(records)


def rows(live: Counted, bulk: Counted, silent: Counted) -> list[Row]:
    """Write what was counted at the SDK; `silent` had no completion events."""
    against = "counted at the SDK, here"
    return [
        Row(
            "write units per new document",
            live.each("write units"),
            "",
            against,
            limit=5,
            note=f"enqueue {live.enqueue['write units'] / live.documents:.2f},"
            f" embed {live.embed['write units'] / live.documents:.2f};"
            f" bulk {bulk.each('write units'):.2f}",
        ),
        Row(
            "read units per new document of 1 KB",
            live.read_units,
            "",
            against,
            limit=2.05,
            note=f"bulk {bulk.read_units:.2f}",
        ),
        Row(
            "PutEvents calls per document",
            live.each("events PutEvents"),
            "",
            against,
            limit=0.1,
            note=f"bulk {bulk.each('events PutEvents'):.2f}; {live.each('events'):.2f} events",
        ),
        Row(
            "PutEvents calls without completion events",
            silent.each("events PutEvents"),
            "",
            against,
            limit=0,
        ),
        _index_reads(bulk),
        Row(
            "index reads with vectors, for new documents",
            bulk.embed.get("index _mget with vectors", 0.0),
            "",
            "counted at the adapter, here",
            limit=0,
            note=f"{bulk.documents} documents",
        ),
    ]


def _index_reads(bulk: Counted) -> Row:
    rounds = -(-bulk.documents // ROUND_DOCUMENTS)
    return Row(
        "index reads (_mget) per round of embed",
        bulk.embed.get("index _mget", 0.0) / rounds,
        "",
        f"counted, rounds of {ROUND_DOCUMENTS} new documents",
        limit=1,
    )
