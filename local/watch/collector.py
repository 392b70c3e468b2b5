"""The stack that runs here -> metrics: lines of the functions, their calls, and the queues.

As on AWS, a queue and the alarms are looked at each minute.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from local.runner.invocation import Invocation
from local.watch.alarms import Alarm, Composite
from local.watch.evaluator import Evaluator
from local.watch.store import MINUTE_MS, MetricId, MetricStore

LOOK_SECONDS = 2.0
_WRITTEN = re.compile(rb'"ApproximateCreationDateTime": ?([0-9.]+)')
_SENT = re.compile(rb'"SentTimestamp": ?"([0-9]+)"')
_QUEUE = re.compile(rb'"eventSourceARN": ?"arn:aws:sqs:[^:"]*:[^:"]*:([^"]+)"')


def now_ms() -> int:
    """Return the time of this machine."""
    return time.time_ns() // 1_000_000


class LambdaMetrics:
    """What Lambda publishes about each call of a function."""

    def __init__(self, store: MetricStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._running: dict[str, int] = {}
        # When the newest message was sent that was received from each queue.
        self.received_ms: dict[str, int] = {}

    def measured(self, function: str, event: bytes, call: Callable[[], Invocation]) -> Invocation:
        """Make a call, and note what came of it."""
        with self._lock:
            running = self._running[function] = self._running.get(function, 0) + 1
        started_ms = now_ms()
        try:
            invocation = call()
        finally:
            with self._lock:
                self._running[function] -= 1
        ended_ms = now_ms()
        if invocation.is_throttled:
            self._put(function, "Throttles", 1, ended_ms)
            return invocation
        self._put(function, "Throttles", 0, ended_ms)
        self._put(function, "Invocations", 1, ended_ms)
        self._put(function, "Errors", int(invocation.error is not None), ended_ms)
        self._put(function, "Duration", ended_ms - started_ms, ended_ms)
        self._put(function, "ConcurrentExecutions", running, ended_ms)
        self._note_ages(function, event, started_ms)
        return invocation

    def _note_ages(self, function: str, event: bytes, started_ms: int) -> None:
        if written := _WRITTEN.search(event):
            age_ms = max(0, started_ms - float(written[1]) * 1000)
            self._put(function, "IteratorAge", age_ms, started_ms)
        if queue := _QUEUE.search(event):
            newest_ms = max(int(one) for one in _SENT.findall(event))
            name = queue[1].decode()
            self.received_ms[name] = max(newest_ms, self.received_ms.get(name, 0))

    def _put(self, function: str, name: str, value: float, at_ms: int) -> None:
        metric = MetricId.of("AWS/Lambda", name, FunctionName=function)
        self._store.put(metric, [value], at_ms=at_ms)


class QueueMetrics:
    """What SQS publishes about each queue."""

    def __init__(self, store: MetricStore, sqs: Any, urls: Mapping[str, str]) -> None:
        self._store = store
        self._sqs = sqs
        self._urls = urls
        self._filled_ms: dict[str, int] = {}  # since when it is not empty

    def look(self, received_ms: Mapping[str, int], at_ms: int) -> None:
        """Note how many messages wait, and for how long."""
        for name, url in self._urls.items():
            attributes = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
            found = attributes["Attributes"]
            visible = int(found["ApproximateNumberOfMessages"])
            hidden = int(found["ApproximateNumberOfMessagesNotVisible"])
            self._put(name, "ApproximateNumberOfMessagesVisible", visible, at_ms)
            self._put(name, "ApproximateNumberOfMessagesNotVisible", hidden, at_ms)
            age = self._age_seconds(name, visible + hidden, received_ms.get(name, 0), at_ms)
            self._put(name, "ApproximateAgeOfOldestMessage", age, at_ms)

    def _age_seconds(self, name: str, messages: int, received_ms: int, at_ms: int) -> float:
        """Return how long the oldest message has waited at most: no engine here tells it.

        It came after the queue was last seen empty, and after those that were received.
        """
        if not messages:
            self._filled_ms.pop(name, None)
            return 0.0
        since_ms = max(self._filled_ms.setdefault(name, at_ms), received_ms)
        return max(0, at_ms - since_ms) / 1000

    def _put(self, name: str, metric: str, value: float, at_ms: int) -> None:
        self._store.put(MetricId.of("AWS/SQS", metric, QueueName=name), [value], at_ms=at_ms)


class LogTail:
    """The lines that the functions have written since the last look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[Path, int] = {}

    def lines(self) -> list[str]:
        """Return whole lines; what is half written comes next time."""
        found: list[str] = []
        for path in sorted(self._folder.glob("*.log")):
            with path.open("rb") as file:
                file.seek(self._places.get(path, 0))
                text, _, _ = file.read().rpartition(b"\n")
            if text:
                self._places[path] = self._places.get(path, 0) + len(text) + 1
                found += text.decode(errors="replace").splitlines()
        return found


class Watch:
    """Metrics and alarms of one stack, in a thread of their own."""

    def __init__(self, logs: Path) -> None:
        self.store = MetricStore()
        self.calls = LambdaMetrics(self.store)
        self.evaluator = Evaluator(self.store, [])
        self._tail = LogTail(logs)
        self._queues: QueueMetrics | None = None
        self._discarded: Callable[[], Mapping[str, int]] = dict
        self._discarded_before: Mapping[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(
        self,
        alarms: Sequence[Alarm | Composite],
        sqs: Any,
        queues: Mapping[str, str],
        discarded: Callable[[], Mapping[str, int]],
    ) -> None:
        """Begin to look; `discarded` counts what each mapping has given to its destination."""
        self._discarded = discarded
        self.evaluator = Evaluator(self.store, alarms)
        self._queues = QueueMetrics(self.store, sqs, queues)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        minute = 0
        while not self._stop.wait(LOOK_SECONDS):
            for line in self._tail.lines():
                self.store.read_line(line)
            if now_ms() // MINUTE_MS > minute:
                minute = now_ms() // MINUTE_MS
                self.look(now_ms())

    def look(self, at_ms: int) -> None:
        """Look at the queues, and judge the alarms."""
        if self._queues is not None:
            try:
                self._queues.look(self.calls.received_ms, at_ms)
            except Exception as error:  # noqa: BLE001 - an engine that ends is seen elsewhere
                print(json.dumps({"message": "queues_not_seen", "failure": str(error)}))
        discarded = self._discarded()
        for mapping, count in discarded.items():
            metric = MetricId.of(
                "AWS/Lambda",
                "OnFailureDestinationDeliveredEventCount",
                EventSourceMappingUUID=mapping,
            )
            new = count - self._discarded_before.get(mapping, 0)
            self.store.put(metric, [new], at_ms=at_ms)
        self._discarded_before = discarded
        self.evaluator.look(at_ms)
