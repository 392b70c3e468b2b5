"""A worker behind its guard, with a scripted provider and a clock that moves only by waiting."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
import pytest

from functions.core.breaker import Breaker
from functions.core.control import Control
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ports import Embedded
from functions.embed.guard.guard import Guard
from functions.embed.guard.guarded import GuardedEmbedder
from local.memory.control import MemoryControl
from local.memory.index import LIMITS
from local.memory.runtime import MemoryTelemetry, MovableClock
from tests.builders import NOW_MS, make_target

RUN_SECONDS = 100.0
DOWN = Failure(FailureKind.PROVIDER_ERROR, "the provider answered 500")
TOO_FAST = Failure(FailureKind.THROTTLED, "the provider answered 429", 20.0)
NO_KEY = Failure(FailureKind.CONFIGURATION, "the provider answered 401")
ANSWER = Embedded([np.ones(2, dtype=np.float32)], 7)


class Scripted:
    """An embedder that answers from a list, the last one for ever."""

    def __init__(self, clock: MovableClock) -> None:
        self.limits = LIMITS
        self.answers: list[Embedded | Exception] = [ANSWER]
        self.asked: list[tuple[int, float]] = []
        self.seconds = 0.0  # that each answer takes
        self._clock = clock

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:  # noqa: ARG002
        self.asked.append((self._clock() - NOW_MS, timeout_seconds))
        self._clock.advance(self.seconds)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Worker:
    """A guard with everything around it."""

    def __init__(self, control: MemoryControl | None = None, **target: object) -> None:
        self.clock = MovableClock(NOW_MS)
        self.control = control or MemoryControl()
        self.telemetry = MemoryTelemetry()
        self.embedder = Scripted(self.clock)
        self.target = make_target(**target)
        self.guard = Guard(
            self.target,
            self.control,
            self.telemetry,
            self.clock,
            self._wait,
            lambda: 0.5,
        )
        self.meanwhile: Callable[[], None] = lambda: None
        self.begin()

    def begin(self, seconds: float = RUN_SECONDS) -> None:
        """Start a run."""
        end_ms = self.clock() + seconds * 1000
        self._run = ExitStack()
        self._run.enter_context(self.guard.run(lambda: (end_ms - self.clock()) / 1000))

    def end(self) -> None:
        """End the run."""
        self._run.close()

    def _wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.meanwhile()

    def answer(self, *answers: Embedded | Failure | Exception) -> None:
        self.embedder.answers = [
            FailureError(one) if isinstance(one, Failure) else one for one in answers
        ]

    @property
    def guarded(self) -> GuardedEmbedder:
        return GuardedEmbedder(self.embedder, self.guard)

    def ask(self) -> Embedded:
        return self.guarded.embed(["hello"], timeout_seconds=30.0)

    def ask_in_vain(self, times: int = 1) -> Failure:
        for _ in range(times):
            with pytest.raises(FailureError) as caught:
                self.ask()
        return caught.value.failure

    @property
    def seconds(self) -> float:
        return (self.clock() - NOW_MS) / 1000

    @property
    def provider(self) -> Breaker:
        return self.control.read("default").provider

    def set_provider(self, breaker: Breaker) -> None:
        self.control.items["default"] = Control(provider=breaker)

    def events(self) -> list[str]:
        return [name for name, _ in self.telemetry.events]
