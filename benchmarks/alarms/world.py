"""A stage in memory that is watched: each minute its functions run and its alarms are judged.

The steps are the real ones, and what they count goes through the lines that they write. What AWS
measures of functions and queues is measured here; what has no engine here is fed by a fault.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from functions.adapters.emf import FunctionMetrics
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.lane import LOW, Lane
from functions.core.ports import Embedded
from functions.core.settings import (
    BudgetSettings,
    SourceSettings,
    TargetSettings,
    VerifySettings,
)
from local.memory.index import HashedEmbedder
from local.memory.pipeline import MemoryPipeline
from local.memory.queues import DEAD_LETTERS
from local.memory.runtime import MemoryTelemetry
from local.specs import StackSpec
from local.watch.evaluator import Evaluator
from local.watch.rules import State
from local.watch.store import MINUTE_MS, MetricId, MetricStore

STAGE = "dev"
SOURCE, TARGET = "articles", "default"
LANES = (Lane.HIGH, Lane.NORMAL, Lane.BULK, Lane.DELETE)
DIMENSIONS = 16
POISON = "xyzzy"
REFUSED = Failure(FailureKind.INVALID_INPUT, "the provider answered 400")
MOST_RUNS = 2_000


class Provider(HashedEmbedder):
    """An embedding provider that rejects poison, and fails if it is told to."""

    def __init__(self) -> None:
        super().__init__(DIMENSIONS)
        self.failure: Failure | None = None
        self.rejects: Failure | None = REFUSED  # what it says to a text with poison

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        if self.failure is not None:
            raise FailureError(self.failure)
        if self.rejects is not None and any(POISON in text for text in texts):
            raise FailureError(self.rejects)
        return super().embed(texts, timeout_seconds=timeout_seconds)


class WatchedTelemetry(MemoryTelemetry):
    """Counts in memory and, as the functions do, as lines for the store."""

    def __init__(self, metrics: FunctionMetrics) -> None:
        super().__init__()
        self._metrics = metrics

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        super().count(metric, value, **dimensions)
        self._metrics.add(metric, value, tuple(dimensions.items()))


class Broken(Exception):
    """A function ends in an error."""


class World:
    """One stage with what surrounds it; a fault changes its fields."""

    def __init__(self, spec: StackSpec, *, budget_tokens: int = 10**9, verify_days: int = 1):
        self.spec = spec
        self.store = MetricStore()
        self.provider = Provider()
        self._metrics: dict[str, FunctionMetrics] = {}
        self.lines: list[str] = []
        self.pipeline = MemoryPipeline(
            [
                SourceSettings(
                    name=SOURCE,
                    table="articles-table",
                    key=("id",),
                    text="{body}",
                    priority_attribute="priority",
                )
            ],
            [
                TargetSettings(
                    name=TARGET,
                    model="text-embedding-3-small",
                    dimensions=DIMENSIONS,
                    index="articles-index",
                    chunk_tokens=16,
                    budget=BudgetSettings(tokens_per_day=budget_tokens),
                    usd_per_million_tokens=0.02,
                )
            ],
            embedders={TARGET: self.provider},
            telemetry_of=self._telemetry,
            verify=VerifySettings(days=verify_days),
        )
        self.clock = self.pipeline.clock
        self.clock.now_ms -= self.clock.now_ms % MINUTE_MS
        self.evaluator = Evaluator(self.store, spec.alarms)
        self.broken: set[str] = set()  # functions that end in an error
        self.throttled: set[str] = set()  # functions that get no concurrency
        self.stopped: set[str] = set()  # schedules that do not run, by their job
        self.disabled: set[Lane] = set()
        self.most_messages = 10**6  # that embed takes in a minute
        self.each_minute: Callable[[], None] = lambda: None
        self.minutes = 0

    def _telemetry(self, service: str) -> WatchedTelemetry:
        def write(line: str) -> None:
            self.lines.append(line)
            self.store.read_line(line)

        made = FunctionMetrics(service, STAGE, now_ms=self.clock_now, write=write)
        self._metrics[service] = made
        return WatchedTelemetry(made)

    def clock_now(self) -> int:
        return self.pipeline.clock()

    def write(self, name: str, body: str, lane: Lane = Lane.NORMAL) -> None:
        """Write a document, to be embedded in a lane."""
        priority = LOW if lane is Lane.BULK else str(lane)
        self.pipeline.tables[SOURCE].put({"id": name, "body": body, "priority": priority})

    def delete(self, name: str) -> None:
        self.pipeline.tables[SOURCE].delete({"id": name})

    def minute(self) -> list[str]:
        """Let a minute pass; return the alarms that are on at its end."""
        self.each_minute()
        self._run_functions()
        self.minutes += 1
        self.clock.now_ms += MINUTE_MS - self.clock.now_ms % MINUTE_MS
        self._measure_queues()
        self.evaluator.look(self.clock())
        return self.alarms()

    def alarms(self) -> list[str]:
        """Name the alarms that are on."""
        standings = self.evaluator.standings().items()
        return [name for name, one in standings if one.state is State.ALARM]

    def _run_functions(self) -> None:
        pipeline = self.pipeline
        unread = pipeline.tables[SOURCE].stream[pipeline.read[SOURCE] :]
        if unread:
            self._call("enqueue", pipeline.deliver_new)
            written_ms = unread[0]["dynamodb"]["ApproximateCreationDateTime"] * 1000
            self.feed_function("enqueue", "IteratorAge", self.clock() - written_ms)
        self._run_embed()
        self._tick("reconcile", "breaker", pipeline.reconcile)
        self._tick("due", "sweep", lambda: pipeline.sweep("due"))
        if self.minutes % 15 == 0:
            self._tick("maintenance", "sweep", lambda: pipeline.sweep("maintenance"))
        if self.minutes % 5 == 0:
            self._tick("jobs", "backfill", lambda: pipeline.backfill.tick("jobs"))
        if self.minutes % 60 == 0:
            self._tick("proof", "backfill", lambda: pipeline.backfill.tick("proof"))
        if len(pipeline.errands):
            self._call("backfill", pipeline.run_errands)
        for folder in ("index_setup", "query", "search"):
            self._call(folder, lambda: None)

    def _run_embed(self) -> None:
        left = self.most_messages
        for lane in LANES:
            queue = f"{TARGET}/{lane}"
            for _ in range(MOST_RUNS):
                if lane in self.disabled or left <= 0 or not self._has_message(queue):
                    break
                before = self.pipeline.queues.waiting(TARGET)[str(lane)]
                self._call("embed", partial(self.pipeline.run, queue, min(10, left)))
                left -= min(10, before)
                if {"embed"} & (self.broken | self.throttled):
                    break

    def _has_message(self, queue: str) -> bool:
        name = queue.removeprefix(f"{TARGET}/")
        return self.pipeline.queues.waiting(TARGET).get(name, 0) > 0

    def _tick(self, job: str, folder: str, work: Callable[[], object]) -> None:
        if job not in self.stopped:
            self._call(folder, work)

    def _call(self, folder: str, work: Callable[[], object]) -> None:
        """Run a function, as Lambda would, and measure it."""
        if folder in self.throttled:
            self.feed_function(folder, "Throttles", 1)
            return
        has_failed = folder in self.broken
        try:
            if not has_failed:
                work()
        except Exception as error:
            if not isinstance(error, FailureError) and type(error).__name__ != "SweepError":
                raise
            has_failed = True
        finally:
            if folder in self._metrics:
                self._metrics[folder].flush()
        self.feed_function(folder, "Throttles", 0)
        self.feed_function(folder, "Invocations", 1)
        self.feed_function(folder, "Errors", int(has_failed))

    def feed_function(self, folder: str, metric: str, value: float) -> None:
        """Write a metric of Lambda for the function of a folder."""
        [name] = [one.name for one in self.spec.functions if one.folder == folder]
        self.feed("AWS/Lambda", metric, value, FunctionName=name)

    def feed(self, namespace: str, metric: str, value: float, **dimensions: str) -> None:
        """Write a metric of AWS."""
        known = MetricId.of(namespace, metric, **dimensions)
        self.store.put(known, [value], at_ms=self.clock())

    def _measure_queues(self) -> None:
        """As SQS does: at the end of the minute, in the minute that ends."""
        at_ms = self.clock() - 1
        for queue in self.spec.queues:
            lane = queue.name.removesuffix(".fifo").removeprefix(f"embedq-{STAGE}-{TARGET}-")
            if lane == DEAD_LETTERS:
                names = [
                    f"{TARGET}/{one}/{DEAD_LETTERS}"
                    for one in LANES
                    if one.is_fifo == queue.name.endswith(".fifo")
                ]
            else:
                names = [f"{TARGET}/{lane}"]
            waiting, oldest_ms = self.pipeline.queues.measured(names)
            age = 0.0 if oldest_ms is None else (self.clock() - oldest_ms) / 1000
            values: dict[str, float] = {
                "ApproximateNumberOfMessagesVisible": waiting,
                "ApproximateAgeOfOldestMessage": age,
            }
            for metric, value in values.items():
                known = MetricId.of("AWS/SQS", metric, QueueName=queue.name)
                self.store.put(known, [value], at_ms=at_ms)

    def pass_quietly(self, **span: Any) -> None:
        """Let much time pass in which nothing runs and nobody looks."""
        self.clock.advance(timedelta(**span).total_seconds())
