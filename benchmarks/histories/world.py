"""One world: an application that writes, functions that run and crash, operators that act."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from benchmarks.histories.engines import (
    DIMENSIONS,
    KILLER,
    POISON,
    Provider,
    SlowControl,
    WatchedLedger,
)
from benchmarks.histories.interrupts import Interrupted, Killed
from benchmarks.histories.plan import WEIGHTS, Rates, Step, choose
from functions.backfill.process import SILENT_MS
from functions.core.backfill_job import Estimate, Job, Only
from functions.core.budget import Raised
from functions.core.errand import SegmentErrand
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.lane import PRIORITIES
from functions.core.ledger_row import Group
from functions.core.settings import BudgetSettings, SourceSettings, TargetSettings
from functions.sweep.process import SweepError
from functions.sweep.requeue import Requeue
from local.memory.pipeline import MemoryPipeline
from local.memory.queues import MemoryQueues

DOCUMENTS = ("a", "b")
FOREIGN = "7"  # of a table that was replaced: its key is a number
TEXTS = ("alpha", "beta", "gamma", "", f"delta {POISON}", f"epsilon {KILLER}")
HARMLESS_TEXTS = TEXTS[:4]

KILL_OF_AN_OVERTAKEN_RUN = "kill of an overtaken run"
MAX_KILLS = 6  # by chance, in one history; documents have five attempts, and heal
# In one history: after ten, a message that was acknowledged each time is a dead letter of SQS.
MAX_LOST_ANSWERS = 4
MAX_HURRIED_RECEIVES = 3
LOOKS = 24  # before and after each call of a run, with few documents
MAX_DEPTH = 2  # runs that start between two calls of another run
MAX_SKEW_MS = 5_000
STREAM_SECONDS = 24 * 3600
DAY_SECONDS = 25 * 3600
MONTH_SECONDS = 31 * 24 * 3600
YEAR_MS = 365 * 24 * 3_600_000
MAX_SETTLE_ROUNDS = 5_000
# A budget is a fault of its own.
PASSING = [one for one in FailureKind if not one.is_permanent and one is not FailureKind.BUDGET]


class World:
    """Takes steps; each fault that happened is counted by its kind."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self.faults: Counter[str] = Counter()
        self.steps = 0
        self.settling_ms = 0  # when the last fault was over
        self.harmful: set[str] = set()  # documents that once had poison or a killer as text
        self._random = random.Random(0)
        self._disturbed = True
        self._kills = 0
        self._depth = 0
        self._skew_ms = 0
        self._looks_left = 0  # until the kill that a backfill meets
        self._overtaken: set[int] = set()  # depths whose run others came between
        self._overtaken_in = 0  # looks, until others overtake this run
        self._overtaking: Sequence[str] = ()  # what they do
        source = SourceSettings(
            name="articles", table="t", key=("id",), text="{body}", priority_attribute="priority"
        )
        most = rates.tokens_per_day
        target = TargetSettings(
            name="default",
            model="text-embedding-3-small",
            dimensions=DIMENSIONS,
            index="articles",
            chunk_tokens=16,
            budget=BudgetSettings(tokens_per_day=most) if most else None,
        )
        self.control = SlowControl(lambda: self.pipeline.clock(), self._chance)
        self.ledger = WatchedLedger(self._chance)
        self.provider = Provider(self._interrupt, lambda: self._chance(rates.throttle))
        self.pipeline = MemoryPipeline(
            [source],
            [target],
            embedders={"default": self.provider},
            control=self.control,
            ledger=self.ledger,
            around=self._around,
            function_clock=lambda: self.pipeline.clock() + self._skew_ms,
            chance=self._chance,
        )
        self.table = self.pipeline.tables["articles"]
        # A page that was cut off by a kill may end elsewhere when it is read again.
        self.table.page_items = 1
        self._texts: dict[str, tuple[str, str]] = {}  # of each document: now, and the one before
        self._sent: list[str] = []  # bodies of tasks that a queue has delivered
        # Runs that overlap are processes of their own.
        self._workers = [self.pipeline.new_worker(target) for _ in range(MAX_DEPTH + 1)]

    @property
    def has_budget(self) -> bool:
        return bool(self._rates.tokens_per_day)

    def take(self, step: Step) -> None:
        """Take one step; whatever it needs of chance comes from its own seed."""
        self._random = random.Random(step.seed)
        with suppress(Killed, FailureError, SweepError):
            self._actions[step.action]()
        self.steps += 1

    def settle(self) -> None:
        """Let everything come to its end, without further faults."""
        self._disturbed = False
        self._skew_ms = 0
        self.settling_ms = self.pipeline.clock()
        self.pipeline.queues.chance = lambda _: False
        self.faults["over budget"] = self.pipeline.telemetry.metrics["BudgetRefusals"]
        self._raise_budget()
        self.pipeline.deliver_new()
        if self.pipeline.jobs.listed():
            # Segments that have lost their message are sent again by the clock.
            self.pipeline.clock.advance(2 * SILENT_MS / 1000)
            self.pipeline.backfill.tick("jobs")
            self.pipeline.run_errands()
        for _ in range(MAX_SETTLE_ROUNDS):
            try:
                if self.pipeline.run_all():
                    continue
                if not self.pipeline.has_work():
                    return
                self.pipeline.tick()
            except Killed:
                continue
        raise RuntimeError(f"work is still left after {MAX_SETTLE_ROUNDS} rounds")

    def _raise_budget(self) -> None:
        """Let an operator raise the budget: what waits for it must come."""
        before, now_ms = self.control.standing("default").raised, self.pipeline.clock()
        raised = Raised(now_ms + YEAR_MS, tokens=10**9, since_ms=before.since_ms + 1)
        self.control.raise_budget("default", before, raised)

    def lose_index(self) -> None:
        """Lose the index; after the sweep has seen a new one, let an operator touch every item."""
        self.faults["lost index"] += 1
        self.pipeline.indexes["default"].lose("index-2")
        self.pipeline.sweep("due")
        for item in list(self.table.items.values()):
            self.table.put({name: value["S"] for name, value in item.items()} | {"touched": "1"})

    @property
    def _actions(self) -> dict[str, Callable[[], None]]:
        return {name: getattr(self, f"_{name}") for name in WEIGHTS}

    def _chance(self, share: float) -> bool:
        return self._disturbed and self._random.random() < share

    def _around(self, adapter: Any, methods: set[str]) -> Interrupted:
        # The queues raise nothing: they return what SQS did not take.
        is_queue = isinstance(adapter, MemoryQueues)
        return Interrupted(adapter, methods, partial(self._interrupt, may_fail=not is_queue))

    def _interrupt(self, *, may_fail: bool = True) -> None:
        """Let another step, a failure or a kill come between two calls of a run."""
        answered, self.provider.answered = self.provider.answered, 0
        if not self._disturbed:
            return
        rates, chance = self._rates, self._random.random()
        self._looks_left -= 1
        if chance < rates.kill or self._looks_left == 0:
            if self._kills == MAX_KILLS:
                return
            self._kills += 1
            self.faults["kill"] += 1
            self.faults[KILL_OF_AN_OVERTAKEN_RUN] += self._depth in self._overtaken
            raise Killed
        if may_fail and chance < rates.kill + rates.failure:
            kind = self._random.choice(PASSING)
            self.faults[f"failure {kind}"] += 1
            failure = Failure(kind, "for a moment")
            # Instead of the provider's answer: where it says that no work was done, there was none.
            self.provider.billed -= 0 if failure.may_be_billed else answered
            raise FailureError(failure)
        if self._depth < MAX_DEPTH:
            self._come_between(chance)

    def _come_between(self, chance: float) -> None:
        """Let other steps be taken now, if it is their turn."""
        self._overtaken_in -= 1
        if self._overtaken_in == 0:
            self._nested(self._overtaking)
        is_enough = self.faults["interleaved steps"] >= self._rates.interleavings
        if chance > 1 - self._rates.interleave and not is_enough:
            self.faults["interleaved steps"] += 1
            # Most rules are for a run that is overtaken by another one.
            actions = ["overtake"]
            if self._random.random() < 0.5:
                actions = choose(self._random, self._rates, self._random.randint(1, 9))
            self._nested(actions)

    def _nested(self, actions: Sequence[str]) -> None:
        self._overtaken.add(self._depth)
        self._depth += 1
        try:
            for action in actions:
                self.steps += 1
                with suppress(Killed, FailureError, SweepError):
                    self._actions[action]()
        finally:
            self._depth -= 1

    @contextmanager
    def _run_of_a_function(self) -> Iterator[None]:
        """Give the run a clock of its own machine."""
        self._overtaken.discard(self._depth)
        before = self._skew_ms
        self._skew_ms = self._random.randint(-MAX_SKEW_MS, MAX_SKEW_MS)
        outer, self.pipeline.embed["default"] = (
            self.pipeline.embed["default"],
            self._workers[self._depth],
        )
        try:
            yield
        finally:
            self._skew_ms = before
            self.pipeline.embed["default"] = outer

    def _write(self) -> None:
        name = self._random.choice(DOCUMENTS[: self._rates.documents])
        if self._random.random() < self._rates.delete:
            self.table.delete({"id": name})
        else:
            texts = TEXTS if self._random.random() < self._rates.harmful else HARMLESS_TEXTS
            text = self._random.choice(texts)
            now, before = self._texts.get(name, (text, text))
            if self._chance(self._rates.back):
                # Back to what it was before: A, B, A.
                text = before
            self._texts[name] = text, now
            if text not in HARMLESS_TEXTS:
                self.harmful.add(name)
            priority = str(self._random.choice(PRIORITIES))
            self.table.put({"id": name, "body": text, "priority": priority})
        # Several writes within one millisecond are several versions all the same.
        if self._random.random() < 0.5:
            self.pipeline.clock.advance(0.001)

    def _delete(self) -> None:
        self.table.delete({"id": self._random.choice(DOCUMENTS[: self._rates.documents])})

    def _deliver(self) -> None:
        with self._run_of_a_function():
            self.pipeline.deliver_new()

    def _redeliver(self) -> None:
        """Bring old stream records again, out of order."""
        oldest = self.pipeline.clock() // 1000 - STREAM_SECONDS
        stream = [
            record
            for record in self.table.stream[: self.pipeline.read["articles"]]
            if record["dynamodb"]["ApproximateCreationDateTime"] > oldest
        ]
        if stream:
            self.faults["stream records again"] += 1
            with self._run_of_a_function():
                self.pipeline.deliver(self._random.choices(stream, k=self._random.randint(1, 5)))

    def _embed(self) -> None:
        if self.pipeline.queues.names:
            queue = self._random.choice(self.pipeline.queues.names)
            with self._run_of_a_function():
                self.pipeline.run(queue, self._random.randint(1, 10))

    def _overtaken_embed(self) -> None:
        """Work all there is; at one of the calls another run comes that has the same messages."""
        self._let_overtake(["write", "next_message"])
        self._embed_all()

    def _overtaken_sweep(self) -> None:
        """Look for what is due; at one of the calls the application writes what is forgotten."""
        self._let_overtake(["write", "catch_up"])
        with self._run_of_a_function():
            self.pipeline.sweep("maintenance")

    def _let_overtake(self, actions: Sequence[str]) -> None:
        self.faults["overtaken run"] += 1
        self._overtaken_in, self._overtaking = self._random.randint(1, LOOKS), actions

    def _catch_up(self) -> None:
        """Let other workers do all there is to do."""
        self._deliver()
        self._embed_all()
        with self._run_of_a_function():
            self.pipeline.sweep("maintenance")

    def _embed_all(self) -> None:
        for queue in self.pipeline.queues.names:
            with self._run_of_a_function():
                self.pipeline.run(queue, 10)

    def _overtake(self) -> None:
        """Let the application change a document, and others work it, with or without the change."""
        self._write()
        if self._random.random() < 0.5:
            self._next_message()
            return
        self._catch_up()
        if self._random.random() < 0.5:
            self._forget_deletes()

    def _next_message(self) -> None:
        """Let time pass until the next message comes, and work all that can be received then."""
        # With ten runs that record nothing, SQS moves any message.
        if max(self.pipeline.queues.receive_counts(), default=0) > MAX_HURRIED_RECEIVES:
            return
        now_ms = self.pipeline.clock()
        times = self.pipeline.queues.visible_times()
        self.pipeline.clock.advance(max(min(times, default=now_ms) - now_ms, 0) / 1000)
        self._embed_all()

    def _lose_answer(self) -> None:
        """Run embed to its end, but lose what it answers: every message comes again."""
        if self.pipeline.queues.names:
            queue = self._random.choice(self.pipeline.queues.names)
            if self.faults["lost answer"] >= MAX_LOST_ANSWERS:
                return
            messages = self.pipeline.queues.receive(queue, 10)
            self._sent += [message.body for message in messages]
            if messages:
                self.faults["lost answer"] += 1
                with self._run_of_a_function():
                    left = self.pipeline.seconds_left()
                    self.pipeline.embed["default"].process(messages, left)

    def _copy(self) -> None:
        """Deliver a copy of a task, of this or an earlier version, as a redrive may."""
        bodies = self._sent + [row.task.to_json() for row in self.pipeline.ledger.rows.values()]
        if bodies:
            self.faults["copied task"] += 1
            body = self._random.choice(bodies)
            self.pipeline.queues.put("default/bulk", body, group=None, deduplication_id=None)

    def _lose_messages(self) -> None:
        """Lose everything that waits in a lane, and let an operator recover it."""
        if self.pipeline.queues.names:
            self.faults["lost lane"] += 1
            self.pipeline.queues.purge(self._random.choice(self.pipeline.queues.names))
            self._recover()

    def _forget_deletes(self) -> None:
        """Let a node of the index start again: it knows no version of what is deleted."""
        self.faults["forgotten deletes"] += 1
        self.pipeline.indexes["default"].forget()

    def _foreign_key(self) -> None:
        """Let a change of a table come that was replaced: its key is of another type."""
        self.faults["foreign key"] += 1
        self.table.stream.append(_foreign_record(self.table.arn, self.pipeline.clock()))

    def _recover(self) -> None:
        """Let an operator send every open document again."""
        self.faults["recover"] += 1
        listed = list(self.pipeline.ledger.listed([Group.OPEN, Group.PARKED]))
        self._requeue_step().requeue([one.row_key for one in listed])

    def _requeue(self) -> None:
        """Let an operator send one document again."""
        keys = list(self.pipeline.ledger.rows)
        if keys:
            self.faults["requeue"] += 1
            self._requeue_step().push(
                self._random.choice(keys), self._random.choice(list(PRIORITIES))
            )

    def _backfill(self) -> None:
        """Let an operator start a backfill; its function is interrupted like any other."""
        self.faults["backfill"] += 1
        segments = self._random.randint(1, 2)
        job = Job(
            id=f"job-{self.faults['backfill']}",
            source="articles",
            target="default",
            only=self._random.choice([*Only, Only.ALL, Only.ALL]),
            segments=segments,
            by="an operator",
            reason="",
            created_ms=self.pipeline.clock(),
            estimate=Estimate(items=0, documents=0, tokens=0),
        )
        self.pipeline.jobs.create(job)
        for number in range(segments):
            self.pipeline.errands.send(SegmentErrand(job.id, number))
        if self._rates.kill:
            # Anywhere between two of its calls: by chance alone, most would end at the first ones.
            self._looks_left = self._random.randint(1, LOOKS)
        with self._run_of_a_function():
            self.pipeline.run_errands()

    def _redrive(self) -> None:
        if self.pipeline.queues.redrive():
            self.faults["redrive"] += 1

    def _requeue_step(self) -> Requeue:
        pipeline = self.pipeline
        return Requeue(pipeline.ledger, pipeline.queues, pipeline.telemetry, pipeline.clock)

    def _sweep(self) -> None:
        with self._run_of_a_function():
            self.pipeline.sweep(self._random.choice(["due", "maintenance"]))

    def _reconcile(self) -> None:
        with self._run_of_a_function():
            self.pipeline.reconcile()

    def _pass_day(self) -> None:
        self.faults["a day passed"] += 1
        self.pipeline.clock.advance(DAY_SECONDS)

    def _pass_month(self) -> None:
        """Let rows expire, and queues and streams forget."""
        self.faults["a month passed"] += 1
        self.pipeline.deliver_new()
        self.pipeline.clock.advance(MONTH_SECONDS)
        now = self.pipeline.clock() // 1000
        rows = self.pipeline.ledger.rows
        for key in [key for key, row in rows.items() if (row.outcome.expires_at or now) < now]:
            del rows[key]
        self._sent.clear()
        for name in self.pipeline.queues.names:
            self.pipeline.queues.purge(name)

    def _wait(self) -> None:
        self.pipeline.clock.advance(self._random.choice([1, 60, 400, 1000, 4000]))


def _foreign_record(arn: str, now_ms: int) -> dict[str, Any]:
    key = {"id": {"N": FOREIGN}}
    return {
        "eventID": "foreign",
        "eventName": "INSERT",
        "eventSource": "aws:dynamodb",
        "eventSourceARN": f"{arn}/stream/2025-01-01T00:00:00.000",
        "dynamodb": {
            "ApproximateCreationDateTime": now_ms // 1000,
            "Keys": key,
            "NewImage": {**key, "body": {"S": "foreign"}},
            "SequenceNumber": f"{now_ms}00000000",
            "StreamViewType": "NEW_IMAGE",
        },
    }
