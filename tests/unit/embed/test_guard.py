"""The guard of one worker: when it asks, when it waits, and what it tells the others."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from functions.core.control import Breaker, Circuit, Control, Cooldown, opened, reopening
from functions.core.failure import Failure, FailureError, FailureKind, Part, RefusedRequestError
from functions.core.ports import Allowance, Budget, Embedded
from functions.core.settings import BreakerSettings
from functions.embed.guard import Guard
from functions.embed.guarded import GuardedEmbedder
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
        self._clock = clock

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:  # noqa: ARG002
        self.asked.append((self._clock() - NOW_MS, timeout_seconds))
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

    def begin(self) -> None:
        end_ms = self.clock() + RUN_SECONDS * 1000
        self.guard.begin(lambda: (end_ms - self.clock()) / 1000)

    def _wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.meanwhile()

    def answer(self, *answers: Embedded | Failure | Exception) -> None:
        self.embedder.answers = [
            FailureError(one) if isinstance(one, Failure) else one for one in answers
        ]

    def ask(self) -> Embedded:
        guarded = GuardedEmbedder(self.embedder, self.guard)
        return guarded.embed(["hello"], timeout_seconds=30.0)

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


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_healthy_run_asks_at_once_and_writes_nothing(worker: Worker) -> None:
    """R25: the happy path costs one cached read."""
    assert worker.ask() == ANSWER
    worker.guard.end()

    assert worker.embedder.asked == [(0, 30.0)]
    assert worker.control.items == {}
    assert worker.telemetry.events == []


def test_throttled_request_is_sent_again_in_the_same_run(worker: Worker) -> None:
    """R23: after Retry-After, as a whole, and the cooldown ends with it."""
    worker.answer(TOO_FAST, ANSWER)

    assert worker.ask() == ANSWER

    [_, (again_ms, _)] = worker.embedder.asked
    assert 20_000 <= again_ms <= 22_000
    assert worker.control.read("default") == Control()
    assert worker.events() == ["cooldown_started", "cooldown_ended"]
    assert worker.telemetry.metrics["ProviderThrottled"] == 1


def test_throttling_is_no_failure(worker: Worker) -> None:
    """R23 R25: it never opens a breaker, and no document is charged."""
    worker.answer(replace(TOO_FAST, retry_after_seconds=None))

    failure = worker.ask_in_vain()
    worker.guard.end()

    assert failure.kind is FailureKind.THROTTLED
    assert not failure.kind.spends_attempt
    assert worker.provider == Breaker()


def test_cooldown_longer_than_the_run_is_told_with_what_is_left(worker: Worker) -> None:
    """R23: the run waits as long as it may, so that nothing polls meanwhile."""
    worker.answer(replace(TOO_FAST, retry_after_seconds=300.0))

    failure = worker.ask_in_vain()

    assert len(worker.embedder.asked) == 1
    assert worker.seconds == pytest.approx(RUN_SECONDS - 5)
    assert failure.kind is FailureKind.THROTTLED
    assert failure.retry_after_seconds == pytest.approx(300 - worker.seconds)


def test_endless_cooldown_is_cut(worker: Worker) -> None:
    """R23: a wrong date in a header does not stop a target for good."""
    worker.answer(replace(TOO_FAST, retry_after_seconds=10_000_000.0))

    worker.ask_in_vain()

    assert worker.control.read("default").cooldown.until_ms == NOW_MS + 900_000


def test_cooldown_of_another_worker_is_waited_out(worker: Worker) -> None:
    """R23: it is shared by all."""
    worker.control.cool("default", until_ms=NOW_MS + 30_000, after=0)

    worker.ask()

    assert worker.embedder.asked[0][0] >= 30_000


def test_only_the_one_that_claimed_asks(worker: Worker) -> None:
    """R23: the others wait until it knows more; one that died gives it up by time."""
    worker.control.cool("default", until_ms=NOW_MS - 1, after=0)
    worker.control.claim("default", now_ms=NOW_MS, until_ms=NOW_MS + 35_000)

    worker.ask()

    assert 35_000 <= worker.embedder.asked[0][0] <= 37_000
    assert worker.control.read("default").cooldown == Cooldown()


@pytest.mark.parametrize(
    "answer",
    [DOWN, NO_KEY, RefusedRequestError(Failure(FailureKind.INVALID_INPUT, "it answered 400"))],
    ids=["down", "no-key", "refused"],
)
def test_any_other_answer_ends_the_cooldown(worker: Worker, answer: Failure | Exception) -> None:
    """R23 R25: what it is then is for the breaker to see, by all workers."""
    worker.control.cool("default", until_ms=NOW_MS - 1, after=0)
    worker.answer(answer)

    worker.ask_in_vain()

    assert worker.control.read("default").cooldown == Cooldown()


def test_answer_to_a_question_from_before_ends_no_cooldown(worker: Worker) -> None:
    """R23: it proves nothing about now."""

    class Late(Scripted):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            worker.control.cool("default", until_ms=NOW_MS + 30_000, after=0)
            return super().embed(texts, timeout_seconds=timeout_seconds)

    worker.embedder = Late(worker.clock)

    worker.ask()

    assert worker.control.read("default").cooldown.throttles == 1


def test_time_spent_waiting_is_taken_off_the_request(worker: Worker) -> None:
    """R23: a request that would outlive the run is not sent with its old timeout."""
    worker.control.cool("default", until_ms=NOW_MS + 85_000, after=0)

    worker.ask()

    [(asked_ms, timeout)] = worker.embedder.asked
    assert timeout == pytest.approx(RUN_SECONDS - asked_ms / 1000)
    assert timeout < 30.0


def test_what_the_provider_still_takes_is_heeded(worker: Worker) -> None:
    """R23: its headers say that the next request is welcome in ten seconds."""
    worker.answer(replace(ANSWER, allowance=Allowance(Budget(0, 600.0, 60))))

    worker.ask()
    worker.ask()

    assert [round(ms / 1000) for ms, _ in worker.embedder.asked] == [0, 10]


def test_pace_that_does_not_fit_into_the_run_is_told(worker: Worker) -> None:
    """R23: nobody is charged for it."""
    worker.answer(replace(ANSWER, allowance=Allowance(Budget(0, 6000.0, 10))))
    worker.ask()

    failure = worker.ask_in_vain()

    assert failure.kind is FailureKind.THROTTLED
    assert failure.retry_after_seconds == pytest.approx(600 - worker.seconds)


def test_configuration_fault_opens_the_breaker_at_once(worker: Worker) -> None:
    """R24 R25: in the middle of the run; one event, one metric, and nothing more is asked."""
    worker.answer(NO_KEY)
    worker.ask_in_vain()
    standing = worker.provider

    failure = worker.ask_in_vain()

    assert (standing.state, standing.reason) == (Circuit.OPEN, "the provider answered 401")
    assert NOW_MS + 27_000 <= standing.due_ms <= NOW_MS + 30_000
    assert len(worker.embedder.asked) == 1
    assert failure.kind is FailureKind.PAUSED
    assert failure.message == "the provider's breaker is open: the provider answered 401"
    assert worker.events() == ["breaker_opened"]
    assert worker.telemetry.metrics["BreakerOpened"] == 1


def test_failures_open_the_breaker_at_the_end_of_the_run(worker: Worker) -> None:
    """R25: half of ten, with the last failure as the reason."""
    worker.answer(*[ANSWER] * 5, DOWN)
    for _ in range(5):
        worker.ask()
    worker.ask_in_vain(times=5)
    before = worker.provider
    worker.guard.end()

    assert before == Breaker()
    assert worker.provider.state is Circuit.OPEN
    assert worker.provider.reason == (
        "5 of 10 failed, the last one with provider_error: the provider answered 500"
    )
    assert worker.telemetry.events == [
        (
            "breaker_opened",
            {"target": "default", "part": "provider", "reason": worker.provider.reason},
        )
    ]


@pytest.mark.parametrize(("passed", "failed"), [(0, 9), (11, 9)], ids=["too-few", "too-seldom"])
def test_fewer_failures_are_only_counted(worker: Worker, passed: int, failed: int) -> None:
    """R25: the counts of all workers add up to the ratio."""
    worker.answer(*[ANSWER] * passed, DOWN)
    for _ in range(passed):
        worker.ask()
    worker.ask_in_vain(times=failed)

    worker.guard.end()

    assert worker.provider.state is Circuit.CLOSED
    assert (worker.provider.successes, worker.provider.failures) == (passed, failed)


def test_healthy_run_is_counted_while_others_fail(worker: Worker) -> None:
    """R25: otherwise the ratio would be that of the failing ones alone."""
    window_ms = NOW_MS - NOW_MS % 60_000
    worker.control.count("default", Part.PROVIDER, window_ms=window_ms, successes=0, failures=3)
    worker.ask()

    worker.guard.end()

    assert (worker.provider.successes, worker.provider.failures) == (1, 3)


def test_refused_text_is_no_failure_of_the_provider(worker: Worker) -> None:
    """R25: poison documents do not open a breaker; they show that somebody answers."""
    refused = RefusedRequestError(Failure(FailureKind.INVALID_INPUT, "it answered 400"))
    worker.answer(*[refused] * 11, DOWN)
    worker.ask_in_vain(times=21)

    worker.guard.end()

    assert worker.provider.state is Circuit.CLOSED
    assert (worker.provider.successes, worker.provider.failures) == (11, 10)


def test_healthy_run_never_opens_a_breaker(worker: Worker) -> None:
    """R25: it has no reason to give."""
    window_ms = NOW_MS - NOW_MS % 60_000
    worker.control.count("default", Part.PROVIDER, window_ms=window_ms, successes=0, failures=30)
    worker.ask()

    worker.guard.end()

    assert worker.provider.state is Circuit.CLOSED


def test_breaker_that_is_open_is_not_opened_again(worker: Worker) -> None:
    """R25: a run that ends late does not put the next probe off."""
    worker.answer(DOWN)
    worker.ask_in_vain(times=20)
    standing = Breaker(Circuit.OPEN, "down", NOW_MS - 120_000, due_ms=NOW_MS + 1)
    worker.set_provider(standing)
    worker.clock.advance(3)

    worker.guard.failed(Part.PROVIDER, NO_KEY)
    worker.guard.end()

    assert replace(worker.provider, window_ms=0, failures=0) == standing
    assert worker.events() == []


def test_worker_that_comes_second_does_not_tell_it_again() -> None:
    """R25: every change is one event."""

    class Slower(MemoryControl):
        def swap(self, target: str, part: Part, before: Breaker, after: Breaker) -> bool:
            super().swap(target, part, before, replace(after, reason="another worker's"))
            return super().swap(target, part, before, after)

    second = Worker(Slower())
    second.answer(NO_KEY)

    second.ask_in_vain()

    assert second.provider.reason == "another worker's"
    assert second.events() == []


def test_open_breaker_is_waited_out(worker: Worker) -> None:
    """R25: it closes while the run waits, and the run goes on."""
    worker.set_provider(Breaker(Circuit.OPEN, "down", NOW_MS, due_ms=NOW_MS + 30_000))

    def close_in_time() -> None:
        if worker.seconds > 40:
            worker.set_provider(Breaker(Circuit.REOPENING, since_ms=worker.clock(), lanes=1))

    worker.meanwhile = close_in_time

    worker.ask()

    assert 40_000 <= worker.embedder.asked[0][0] <= 45_000


@pytest.mark.parametrize(
    ("state", "due_ms", "left"),
    [(Circuit.OPEN, NOW_MS + 200_000, 105.0), (Circuit.PAUSED, 0, None)],
)
def test_breaker_that_stays_open_gives_the_batch_back(
    worker: Worker, state: Circuit, due_ms: int, left: float | None
) -> None:
    """R25: nothing was asked, nobody is charged, and it says why and until when."""
    worker.set_provider(Breaker(state, "moving house", NOW_MS, due_ms=due_ms))

    failure = worker.ask_in_vain()

    assert worker.embedder.asked == []
    assert worker.seconds == pytest.approx(RUN_SECONDS - 5)
    assert failure.message == f"the provider's breaker is {state}: moving house"
    assert failure.retry_after_seconds == (left and pytest.approx(left))
    assert not failure.kind.spends_attempt


def test_failures_from_before_do_not_open_a_reopened_breaker(worker: Worker) -> None:
    """R25: a change of state begins a new window."""
    worker.answer(DOWN)
    worker.ask_in_vain(times=30)
    worker.guard.end()
    worker.set_provider(
        reopening(
            worker.provider,
            reason="a probe has passed",
            now_ms=NOW_MS + 1,
            settings=BreakerSettings(),
            jitter=0,
        )
    )
    worker.clock.advance(3)
    worker.begin()

    worker.ask_in_vain(times=9)
    worker.guard.end()

    assert worker.provider.state is Circuit.REOPENING
    assert worker.provider.failures == 9


def test_breaker_that_fails_while_it_reopens_waits_longer(worker: Worker) -> None:
    """R25: its probe had promised too much."""
    standing = Breaker(Circuit.REOPENING, "a probe has passed", NOW_MS, probes=1, lanes=2)

    again = opened(standing, reason="down", now_ms=NOW_MS, settings=worker.target.breaker, jitter=0)

    assert (again.state, again.probes, again.lanes) == (Circuit.OPEN, 2, 0)
    assert again.due_ms == NOW_MS + 120_000


def test_person_who_was_faster_is_not_overruled(worker: Worker) -> None:
    """R25: a pause stays a pause."""
    worker.answer(DOWN)
    worker.ask_in_vain(times=20)
    paused = Breaker(Circuit.PAUSED, "moving house", NOW_MS)
    worker.set_provider(paused)

    worker.guard.end()

    assert worker.provider.state is Circuit.PAUSED
    assert worker.events() == []


def test_unreadable_item_stops_nobody(worker: Worker) -> None:
    """R25: it is told of once in each run."""
    worker.control.is_down = True
    worker.answer(ANSWER, DOWN)

    worker.ask()
    worker.ask_in_vain(times=20)
    worker.guard.end()
    worker.begin()
    worker.clock.advance(5)
    worker.ask_in_vain()

    assert len(worker.embedder.asked) == 22
    assert worker.events() == ["control_unreadable"] * 2
    assert worker.telemetry.metrics["ControlUnreadable"] == 2


def test_throttled_worker_waits_alone_while_the_item_is_unreadable(worker: Worker) -> None:
    """R23 R25: less and less often, although it cannot tell the others."""
    worker.control.is_down = True
    unsaid = replace(TOO_FAST, retry_after_seconds=None)
    worker.answer(unsaid, unsaid, unsaid, ANSWER)

    worker.ask()

    asked = [ms / 1000 for ms, _ in worker.embedder.asked]
    assert asked == pytest.approx([0, 1.5, 4, 8.5])


def test_many_failures_are_told_before_the_breaker_opens(worker: Worker) -> None:
    """R26: half way there, packs are halved and retries cut."""
    worker.answer(*[ANSWER] * 7, DOWN)
    for _ in range(7):
        worker.ask()
    worker.ask_in_vain(times=2)
    before = worker.guard.is_failing

    worker.ask_in_vain()

    assert (before, worker.guard.is_failing) == (False, True)


def test_failures_of_the_other_workers_are_heard_of(worker: Worker) -> None:
    """R26: by the item, and only of this window."""
    window_ms = NOW_MS - NOW_MS % 60_000
    worker.control.count("default", Part.INDEX, window_ms=window_ms, successes=70, failures=30)
    worker.ask()
    now = worker.guard.is_failing

    worker.clock.advance(61)
    worker.ask()

    assert (now, worker.guard.is_failing) == (True, False)


def test_short_run_is_divided_as_a_long_one_is(worker: Worker) -> None:
    """R23: on one machine the schedules are shortened."""
    worker.guard.begin(lambda: 4.0 - worker.seconds)
    worker.control.cool("default", until_ms=NOW_MS + 2_000, after=0)

    worker.ask()

    [(asked_ms, timeout)] = worker.embedder.asked
    assert 2_000 <= asked_ms <= 3_500
    assert timeout == pytest.approx(4.0 - asked_ms / 1000)
