"""The stack that the questions are asked of: writes, waits, and meters that cost it nothing.

Who is done is read from the completion events, which the endpoint adds to a file: asking the ledger
for thousands of rows each second would slow the engine that is measured.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
import psutil

from benchmarks.bench.documents import make_item
from benchmarks.load import BATCH_WRITE_LIMIT, STALL_SECONDS, StalledError
from functions.adapters.dynamodb_values import to_dynamodb
from functions.adapters.opensearch_http import OpenSearchHttp, segment
from functions.core.batches import batches
from functions.core.identity import DocumentId, entry_id
from functions.core.lane import Lane
from functions.core.settings import EmbedSettings
from local.aws_client import REGION
from local.background import ENGINES
from local.engines.engine import Engine
from local.engines.records import read_record
from local.processes import wait_for
from local.specs import FunctionSpec, QueueMappingSpec
from local.stack import LocalStack
from local.watch.store import MINUTE_MS, MetricId, Window
from ops.deployment import Deployment

LOOK_SECONDS = 0.05
SWITCH_SECONDS = 60.0
LONGEST_MINUTES = 600
# What each answer is filed under, by the call of the runner, which polls as Lambda does.
POLLER_CALLS = ("ReceiveMessage", "DeleteMessageBatch")

Say = Callable[[str], None]
Event = Mapping[str, Any]


class PollerCalls:
    """Counts what the runner asks SQS for in this process; polls that bring nothing are apart."""

    def __init__(self) -> None:
        """Be there before the stack starts: a client has the hooks of its session's first day."""
        self.found: Counter[str] = Counter()
        boto3.setup_default_session()
        assert boto3.DEFAULT_SESSION is not None
        boto3.DEFAULT_SESSION.events.register("after-call.sqs.*", self._count)

    def _count(self, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        if model.name in POLLER_CALLS:
            is_empty = model.name == "ReceiveMessage" and not parsed.get("Messages")
            self.found["empty" if is_empty else "poller calls"] += 1


@dataclass
class Site:
    """The running stack, seen from outside."""

    folder: Path
    stack: LocalStack
    deployment: Deployment
    polls: PollerCalls
    say: Say
    completed: dict[str, Event] = field(default_factory=dict)
    _read_bytes: int = 0

    @cached_property
    def http(self) -> OpenSearchHttp:
        """Return requests to OpenSearch itself."""
        return OpenSearchHttp(self.stack.opensearch_url, credentials=None, region=REGION)

    def engine_url(self, engine: type[Engine]) -> str:
        """Return where an engine answers, without the endpoint before it."""
        record = read_record(self.folder / ENGINES)
        engines = record.engines if record else ()
        [url] = [one.url for one in engines if one.name == engine.name]
        return url

    def function(self, folder: str) -> FunctionSpec:
        """Return a function by its folder."""
        [found] = [one for one in self.stack.spec.functions if one.folder == folder]
        return found

    @cached_property
    def embed_settings(self) -> EmbedSettings:
        """Return what embed reads from its environment."""
        return EmbedSettings.from_environment(self.function("embed").environment)

    def lane(self, lane: Lane) -> QueueMappingSpec:
        """Return the mapping that feeds embed from a lane."""
        queue = self.embed_settings.queues[str(lane)].rsplit("/", 1)[-1]
        [found] = [one for one in self.stack.spec.queue_mappings if one.queue == queue]
        return found

    def switch(self, mapping: str, *, enabled: bool) -> None:
        """Switch a mapping, and wait until it is so."""
        self.stack.runner.set_enabled(mapping, enabled)
        wanted = "Enabled" if enabled else "Disabled"
        if not wait_for(lambda: self.stack.runner.state(mapping) == wanted, SWITCH_SECONDS):
            raise StalledError(f"{mapping} is not {wanted}")

    def write(self, names: Sequence[str], lane: Lane) -> None:
        """Write new documents as fast as one thread can."""
        table, client = self.deployment.source(None).table, self.deployment.client("dynamodb")
        for part in batches(names, BATCH_WRITE_LIMIT):
            puts = [{"PutRequest": {"Item": to_dynamodb(make_item(n, lane))}} for n in part]
            left: Any = {table: puts}
            while left:
                left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]

    def queue_up(self, names: Sequence[str], lane: Lane) -> None:
        """Write documents, and let all their tasks wait in a lane whose mapping is switched off."""
        self.switch(self.lane(lane).mapping_id, enabled=False)
        self.write(names, lane)
        if not wait_for(lambda: self.waiting(lane) >= len(names), STALL_SECONDS):
            raise StalledError(f"only {self.waiting(lane):,} tasks wait in the lane {lane}")

    def waiting(self, lane: Lane) -> int:
        """Count the messages that wait in a lane."""
        url = self.embed_settings.queues[str(lane)]
        name = "ApproximateNumberOfMessages"
        answer = self.deployment.client("sqs").get_queue_attributes(
            QueueUrl=url, AttributeNames=[name]
        )
        return int(answer["Attributes"][name])

    def new_completions(self) -> list[str]:
        """Return the documents that were completed since the last look."""
        if not self.stack.events_file.exists():
            return []
        with self.stack.events_file.open("rb") as file:
            file.seek(self._read_bytes)
            # What is half written comes next time.
            text, _, _ = file.read().rpartition(b"\n")
        if not text:
            return []
        self._read_bytes += len(text) + 1
        details = [json.loads(line)["detail"] for line in text.splitlines()]
        done = {one["document_id"]: one for one in details if one["status"] == "completed"}
        self.completed |= done
        return list(done)

    def until_completed(
        self, names: Collection[str], seen: Callable[[list[str]], None] = lambda _: None
    ) -> None:
        """Wait for documents; `seen` gets each as soon as it is known to be completed."""
        moved = time.monotonic()
        said, wanted = 0, set(names)
        while not wanted <= self.completed.keys():
            if new := self.new_completions():
                moved = time.monotonic()
                seen(new)
            elif time.monotonic() - moved > STALL_SECONDS:
                left = wanted - self.completed.keys()
                raise StalledError(f"{len(left):,} documents do not complete: {left.pop()}")
            if (done := len(wanted & self.completed.keys())) >= said + max(len(wanted) // 4, 1):
                said = done
                self.say(f"  {done:,} of {len(wanted):,} completed")
            time.sleep(LOOK_SECONDS)

    def until_idle(self, lane: Lane) -> None:
        """Wait until every run has ended and its messages are deleted: meters count them then."""
        url = self.embed_settings.queues[str(lane)]
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        client = self.deployment.client("sqs")

        def is_idle() -> bool:
            answer = client.get_queue_attributes(QueueUrl=url, AttributeNames=names)
            return not any(int(answer["Attributes"][name]) for name in names)

        if not wait_for(is_idle, STALL_SECONDS):
            raise StalledError(f"messages stay in the lane {lane}")

    def found_by_search(self, names: Sequence[str]) -> int:
        """Count the documents that a search finds now; nothing is refreshed for it."""
        source, target = self.deployment.source(None), self.deployment.target(None)
        ids = [entry_id(source.name, DocumentId(name)) for name in names]
        body = {"query": {"ids": {"values": ids}}, "size": len(ids), "_source": False}
        answer = self.http.call("POST", f"{segment(target.index)}/_search", body)
        return len(answer["hits"]["hits"])

    def meters(self) -> Counter[str]:
        """Read all meters: the difference of two readings is what lay between them."""
        found = Counter(self.polls.found)
        for one in self.stack.spec.functions:
            milliseconds = self._lambda(one.name, "Duration")
            found[f"{one.folder} calls"] += round(self._lambda(one.name, "Invocations"))
            # A counter of floats: milliseconds times megabytes, made GB-seconds where it is read.
            found[f"{one.folder} MB ms"] += round(milliseconds * one.memory_mb)
            log = self.folder / "runner" / "logs" / f"{one.name}.log"
            found[f"{one.folder} log bytes"] += log.stat().st_size if log.exists() else 0
            found[f"{one.folder} CPU ms"] += round(1000 * self._cpu_seconds(one.name))
        return found

    def _lambda(self, function: str, name: str) -> float:
        end_ms = (time.time_ns() // 1_000_000 // MINUTE_MS + 1) * MINUTE_MS
        metric = MetricId.of("AWS/Lambda", name, FunctionName=function)
        window = Window(end_ms, 60, LONGEST_MINUTES)
        values = self.stack.watch.store.statistics(metric, "Sum", window)
        return sum(value for value in values if value is not None)

    def _cpu_seconds(self, function: str) -> float:
        pids = self.stack.runner.pids(function)
        return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)

    def megabytes(self, folder: str) -> float:
        """Return the resident memory of the largest process of a function."""
        pids = self.stack.runner.pids(self.function(folder).name)
        return max(psutil.Process(pid).memory_info().rss for pid in pids) / 1e6


GB_SECOND = 1000 * 1024  # in milliseconds times megabytes


def per_document(before: Counter[str], after: Counter[str], documents: int) -> dict[str, float]:
    """Return what lay between two readings, for each document; of functions, embed and enqueue."""
    spent = Counter(after)
    spent.subtract(before)

    def both(meter: str) -> int:
        return sum(spent[f"{folder} {meter}"] for folder in ("enqueue", "embed"))

    totals = {
        "invocations": both("calls"),
        "GB-seconds": both("MB ms") / GB_SECOND,
        "log bytes": both("log bytes"),
        "poller calls": spent["poller calls"],
        "empty polls": spent["empty"],
        "embed CPU ms": spent["embed CPU ms"],
        "enqueue CPU ms": spent["enqueue CPU ms"],
    }
    return {name: total / documents for name, total in totals.items()}
