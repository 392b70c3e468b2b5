"""Many guarded workers on simulated time: one runs at a time, and waiting costs nothing."""

import heapq
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ports import ControlStore, Embedded, ProviderLimits
from functions.core.settings import TargetSettings
from functions.embed.guard.guard import Guard
from functions.embed.guard.guarded import GuardedEmbedder
from local.memory.control import MemoryControl
from local.memory.index import LIMITS
from local.memory.runtime import MemoryTelemetry
from tests.builders import NOW_MS, make_target

RUN_SECONDS = 120.0
FINISH_SECONDS = 20.0
LATENCY_SECONDS = 0.2
BATCH = 10
TURN_SECONDS = 30.0  # of real time: a worker that never waits is a bug


class SimulatedTime:
    """A clock that jumps to whoever waits for the earliest moment."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS
        self._sleepers: list[tuple[float, int, threading.Event]] = []
        self._numbers = count()
        self._turn = threading.Event()

    def __call__(self) -> int:
        return self.now_ms

    @property
    def seconds(self) -> float:
        """Tell how long it has been running."""
        return (self.now_ms - NOW_MS) / 1000

    def wait(self, seconds: float) -> None:
        """Let the others run for so long."""
        woken = threading.Event()
        at_ms = self.now_ms + max(seconds * 1000, 1)
        heapq.heappush(self._sleepers, (at_ms, next(self._numbers), woken))
        self._turn.set()
        woken.wait()

    def run(self, bodies: Sequence[Callable[[], None]]) -> None:
        """Run each body in a thread of its own until all have ended."""
        errors: list[BaseException] = []
        for body in bodies:
            threading.Thread(target=self._body, args=(body, errors), daemon=True).start()
            self._take_turn()
        while self._sleepers:
            at_ms, _, woken = heapq.heappop(self._sleepers)
            self.now_ms = max(self.now_ms, round(at_ms))
            woken.set()
            self._take_turn()
            if errors:
                raise errors[0]

    def _take_turn(self) -> None:
        assert self._turn.wait(TURN_SECONDS), "a worker runs without ever waiting"
        self._turn.clear()

    def _body(self, body: Callable[[], None], errors: list[BaseException]) -> None:
        try:
            self.wait(0)
            body()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)
        finally:
            self._turn.set()


@dataclass
class Provider:
    """Answers as `fault` tells, and takes so many requests a second."""

    time: SimulatedTime
    fault: Callable[[float], Failure | None] = lambda _: None
    requests_per_second: float = 1000.0
    asked_at: list[float] = field(default_factory=list)
    passed_at: list[float] = field(default_factory=list)
    limits: ProviderLimits = LIMITS

    def __post_init__(self) -> None:
        self._left, self._filled_at = self.requests_per_second, 0.0

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:  # noqa: ARG002
        now = self.time.seconds
        self.asked_at.append(now)
        self.time.wait(LATENCY_SECONDS)
        failure = self.fault(now)
        if failure is None and not self._takes():
            failure = Failure(FailureKind.THROTTLED, "the provider answered 429", 1.0)
        if failure is not None:
            raise FailureError(failure)
        self.passed_at.append(self.time.seconds)
        return Embedded([np.ones(2, dtype=np.float32)] * len(texts), len(texts))

    def _takes(self) -> bool:
        now = self.time.seconds
        refilled = self._left + (now - self._filled_at) * self.requests_per_second
        self._left, self._filled_at = min(refilled, self.requests_per_second), now
        if self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass
class Waiting:
    """A document in the queue, or parked until it is due."""

    number: int
    due_ms: int = 0
    receives: int = 0
    attempts: int = 0
    kinds: list[FailureKind] = field(default_factory=list)


class Fleet:
    """Workers that empty one queue; what fails is parked until it is due."""

    def __init__(
        self,
        time: SimulatedTime,
        provider: Provider,
        *,
        documents: int,
        workers: int,
        target: TargetSettings | None = None,
        control: ControlStore | None = None,
    ) -> None:
        self.time = time
        self.provider = provider
        self.target = target or make_target(workers=workers)
        self.control = control or MemoryControl()
        self.telemetry = MemoryTelemetry()
        self.queue = [Waiting(number) for number in range(documents)]
        self.done: list[Waiting] = []
        self.is_polled = True
        self._total = documents
        self._workers = workers

    @property
    def is_done(self) -> bool:
        return len(self.done) == self._total

    @property
    def receives(self) -> int:
        """Count how often anything was received."""
        return sum(one.receives for one in self.queue + self.done)

    def bodies(self) -> list[Callable[[], None]]:
        return [self._worker(seed) for seed in range(self._workers)]

    def _worker(self, seed: int) -> Callable[[], None]:
        chance = random.Random(seed)
        guard = Guard(
            self.target, self.control, self.telemetry, self.time, self.time.wait, chance.random
        )
        embedder = GuardedEmbedder(self.provider, guard)

        def work() -> None:
            while not self.is_done:
                batch = self._receive() if self.is_polled else []
                if batch:
                    self._run(batch, guard, embedder)
                else:
                    self.time.wait(1.0 if self.is_polled else 10.0)

        return work

    def _receive(self) -> list[Waiting]:
        batch = [one for one in self.queue if one.due_ms <= self.time()][:BATCH]
        for one in batch:
            self.queue.remove(one)
            one.receives += 1
        return batch

    def _run(self, batch: list[Waiting], guard: Guard, embedder: GuardedEmbedder) -> None:
        end = self.time.seconds + RUN_SECONDS
        with guard.run(lambda: end - self.time.seconds - FINISH_SECONDS):
            try:
                embedder.embed([str(one.number) for one in batch], timeout_seconds=30.0)
                self.done += batch
            except FailureError as error:
                self._park(batch, error.failure)
        assert self.time.seconds <= end, "the guard has overdrawn the run's time"

    def _park(self, batch: list[Waiting], failure: Failure) -> None:
        for one in batch:
            one.attempts += failure.kind.spends_attempt
            one.kinds.append(failure.kind)
            one.due_ms = self.time() + round(max(failure.retry_after_seconds or 0.0, 4.0) * 1000)
        self.queue += batch
