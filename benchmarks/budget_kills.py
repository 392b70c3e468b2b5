"""A budget under kills, in memory: `python -m benchmarks.budget_kills`.

Workers overlap: between two calls of a run, others begin and end, or the run is killed. What the
provider bills is compared with the cap; then the budget is raised, and every document must come.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from benchmarks.histories.interrupts import Interrupted, Killed
from functions.core.budget import NOT_RAISED, Raised
from functions.core.entry import Entry
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.lane import Lane
from functions.core.ledger_row import Group
from functions.core.ports import Embedded
from functions.core.settings import BudgetSettings, SourceSettings, TargetSettings
from local.memory.index import HashedEmbedder
from local.memory.pipeline import MemoryPipeline

DIMENSIONS = 8
CHUNK_TOKENS = 32
DAY_MS = 86_400_000
QUEUES = {f"default/{Lane.NORMAL}": 10, f"default/{Lane.BULK}": 200}  # with their batches
FAILURES = (
    FailureError(Failure(FailureKind.THROTTLED, "too many requests", 1.0)),
    FailureError(Failure(FailureKind.TIMEOUT, "no answer")),
    FailureError(Failure(FailureKind.PROVIDER_ERROR, "500", is_refused=True)),
)
FAILURE_SHARE = 0.02
NESTED_SHARE = 0.05
MAX_ROUNDS = 20_000


class Provider(HashedEmbedder):
    """Bills each request that it works, also where nobody hears the answer."""

    def __init__(self, meanwhile: Callable[[], None], chance: random.Random) -> None:
        super().__init__(DIMENSIONS)
        self.billed = 0
        self.largest = 0  # request, in tokens
        self._meanwhile = meanwhile
        self._chance = chance

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        self._meanwhile()
        failure = self._chance.choice(FAILURES) if self._chance.random() < FAILURE_SHARE else None
        if failure is not None and not failure.failure.may_be_billed:
            raise failure
        tokens = sum(len(text.encode()) // 4 for text in texts)
        self.billed += tokens
        self.largest = max(self.largest, tokens)
        if failure is not None:
            raise failure
        answer = super().embed(texts, timeout_seconds=timeout_seconds)
        self.requests.clear()
        self._meanwhile()
        return Embedded(answer.results, tokens)


@dataclass(frozen=True)
class Seen:
    """What the provider had billed at one moment, and what was counted."""

    cap: int
    billed: int
    counted: int
    searchable: int
    over_budget: int


@dataclass
class Run:
    """One run: so many documents, workers and kills."""

    documents: int
    workers: int
    kills: int
    cap: int
    seed: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._depth = 0
        self._disturbed = True
        self.provider = Provider(self._interrupt, self._random)
        target = TargetSettings(
            name="default",
            model="text-embedding-3-small",
            dimensions=DIMENSIONS,
            index="articles",
            chunk_tokens=CHUNK_TOKENS,
            workers=self.workers,
            budget=BudgetSettings(tokens_per_day=self.cap),
        )
        source = SourceSettings(
            name="articles", table="t", key=("id",), text="{body}", priority_attribute="priority"
        )
        self.pipeline = MemoryPipeline(
            [source], [target], embedders={"default": self.provider}, around=self._around
        )
        # A whole day lies ahead.
        self.pipeline.clock.now_ms += DAY_MS - self.pipeline.clock.now_ms % DAY_MS
        self._workers = [self.pipeline.new_worker(target) for _ in range(self.workers)]

    def play(self) -> tuple[Seen, Seen]:
        """Return what was seen when the budget was used up, and at the end."""
        self._write()
        self._work_until(lambda: self._count(Group.OVER_BUDGET) == self._open())
        used_up = self._look(self.cap)
        raised = Raised(self.pipeline.clock() + 7 * DAY_MS, tokens=100 * self.cap, since_ms=1)
        self.pipeline.control.raise_budget("default", NOT_RAISED, raised)
        self._work_until(lambda: not self._open())
        return used_up, self._look(100 * self.cap)

    def above(self, seen: Seen) -> int:
        """Return by how many tokens the provider billed more than the cap."""
        return max(seen.billed - seen.cap, 0)

    def mistakes(self, used_up: Seen, end: Seen) -> list[str]:
        """Say what must not be."""
        found = []
        allowed = self.workers * self.provider.largest
        if self.above(used_up) > allowed or self.above(end) > allowed:
            found.append(f"above the cap by {self.above(used_up)} tokens, {allowed} are allowed")
        if used_up.counted < used_up.billed:
            found.append(f"{used_up.billed} were billed, {used_up.counted} counted")
        if end.searchable != self.documents or self.pipeline.queues.dead_letters():
            found.append(f"{self.documents - end.searchable} documents are lost")
        if not used_up.over_budget:
            found.append("no document waited: the cap is too high to show anything")
        return found

    def _write(self) -> None:
        for number in range(self.documents):
            lane = Lane.BULK if number % 2 else Lane.NORMAL
            body = f"document {number} tells of {number * 31} and of {number * 17}"
            self.pipeline.tables["articles"].put(
                {"id": f"d{number}", "body": body, "priority": str(lane)}
            )
        self._disturbed = False
        self.pipeline.deliver_new()
        self._disturbed = True

    def _work_until(self, is_over: Callable[[], bool]) -> None:
        for _ in range(MAX_ROUNDS):
            if not self._work_lanes():
                if is_over():
                    return
                self.pipeline.clock.advance(60)
                with suppress(Killed):
                    self.pipeline.sweep("due")
                with suppress(Killed):
                    self.pipeline.reconcile()
        raise RuntimeError(f"work is still left after {MAX_ROUNDS} rounds")

    def _work_lanes(self) -> int:
        return sum(self._run(queue) for queue in QUEUES)

    def _run(self, queue: str) -> int:
        """Run the next worker on a batch; return how many messages it took."""
        with self._worker(), suppress(Killed):
            return self.pipeline.run(queue, QUEUES[queue])
        return 1

    @contextmanager
    def _worker(self) -> Iterator[None]:
        outer = self.pipeline.embed["default"]
        self.pipeline.embed["default"] = self._workers[self._depth]
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self.pipeline.embed["default"] = outer

    def _around(self, adapter: Any, methods: set[str]) -> Interrupted:
        return Interrupted(adapter, methods, self._interrupt)

    def _interrupt(self) -> None:
        """Let another worker run between two calls of a run, or let the run be killed."""
        if not self._disturbed or not self._depth:
            return
        # About evenly over the run: a document makes some ten calls.
        if self.faults["kill"] < self.kills and self._random.random() < self.kill_share:
            self.faults["kill"] += 1
            raise Killed
        if self._depth < self.workers and self._random.random() < NESTED_SHARE:
            self.faults["overlapping run"] += 1
            self._run(self._random.choice(list(QUEUES)))

    @property
    def kill_share(self) -> float:
        return min(0.1, 5 * self.kills / self.documents)

    def _count(self, group: Group) -> int:
        return sum(row.group is group for row in self.pipeline.ledger.rows.values())

    def _open(self) -> int:
        return sum(
            row.status.is_open or row.is_healing for row in self.pipeline.ledger.rows.values()
        )

    def _look(self, cap: int) -> Seen:
        entries = self.pipeline.indexes["default"].entries.values()
        return Seen(
            cap=cap,
            billed=self.provider.billed,
            counted=self.pipeline.control.read("default").spent.tokens,
            searchable=sum(isinstance(entry, Entry) for entry in entries),
            over_budget=self._count(Group.OVER_BUDGET),
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if the cap held and no document was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget_kills", description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    # About half of what all of it costs.
    run = Run(given.documents, given.workers, given.kills, cap=given.documents * 5, seed=given.seed)
    used_up, end = run.play()
    print(f"documents      {given.documents:,}, {given.workers} workers, {dict(run.faults)}")
    for name, seen in (("used up", used_up), ("raised", end)):
        print(
            f"{name:14} cap {seen.cap:,}, billed {seen.billed:,}, counted {seen.counted:,},"
            f" above the cap {run.above(seen):,}; searchable {seen.searchable:,},"
            f" over budget {seen.over_budget:,}"
        )
    print(f"largest        {run.provider.largest:,} tokens in one request")
    mistakes = run.mistakes(used_up, end)
    print(
        "\n".join(mistakes) or f"the cap held, nothing is lost ({time.monotonic() - began:.0f} s)"
    )
    return int(bool(mistakes))


if __name__ == "__main__":
    sys.exit(main())
