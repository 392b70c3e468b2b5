"""The guard of one worker: when it asks, and how long it waits."""

from dataclasses import replace
from typing import Any

import pytest

from functions.core.breaker import Breaker, Circuit
from functions.core.failure import FailureKind
from functions.core.ports import Allowance, RateLimit
from tests.builders import NOW_MS
from tests.unit.embed.guard.worker import ANSWER, DOWN, NO_KEY, RUN_SECONDS, Worker


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_healthy_run_asks_at_once_and_writes_nothing(worker: Worker) -> None:
    """R25: the happy path costs one cached read."""
    assert worker.ask() == ANSWER
    worker.end()

    assert worker.embedder.asked == [(0, 30.0)]
    assert worker.control.items == {}
    assert worker.telemetry.events == []


def test_time_spent_waiting_is_taken_off_the_request(worker: Worker) -> None:
    """R23: a request that would outlive the run is not sent with its old timeout."""
    worker.control.cool("default", until_ms=NOW_MS + 85_000, after=0)

    worker.ask()

    [(asked_ms, timeout)] = worker.embedder.asked
    assert timeout == pytest.approx(RUN_SECONDS - asked_ms / 1000)
    assert timeout < 30.0


@pytest.mark.parametrize(("left", "asked_ms"), [(0, 10_500), (1, 0)])
def test_what_the_provider_still_takes_is_heeded(worker: Worker, left: int, asked_ms: int) -> None:
    """R23: its headers say that the next request is welcome in ten seconds, or at once."""
    worker.answer(replace(ANSWER, allowance=Allowance(RateLimit(left, 600.0, 60))))

    worker.ask()
    worker.ask()

    assert [ms for ms, _ in worker.embedder.asked] == [0, asked_ms]


@pytest.mark.parametrize(
    ("settings", "allowance"),
    [
        pytest.param({"requests_per_minute": 60, "workers": 10}, Allowance(), id="settings"),
        pytest.param({}, Allowance(RateLimit(0, 600.0, 60)), id="headers"),
    ],
)
def test_clock_that_was_set_back_is_not_waited_for(
    settings: dict[str, Any], allowance: Allowance
) -> None:
    """R23 R35: the worker keeps its ten seconds from now on, and not an hour."""
    worker = Worker(**settings)
    worker.answer(replace(ANSWER, allowance=allowance))
    worker.ask()
    worker.clock.advance(-3600)
    worker.begin()

    worker.ask()

    assert [ms for ms, _ in worker.embedder.asked] == [0, -3600_000 + 10_500]


def test_pace_of_the_settings_counts_what_the_last_request_took() -> None:
    """R23: by the provider's own count; half a second is waited for, too."""
    worker = Worker(tokens_per_minute=8_400, workers=10)

    for _ in range(3):
        worker.ask()

    # Seven tokens of each answer are half a second of this worker's share, and a twentieth more.
    assert [ms for ms, _ in worker.embedder.asked] == [0, 525, 1050]


def test_time_spent_waiting_is_counted(worker: Worker) -> None:
    """R23 R61: all waits of a run together, in milliseconds."""
    worker.answer(replace(ANSWER, allowance=Allowance(RateLimit(0, 600.0, 60))))
    for _ in range(3):
        worker.ask()

    worker.end()

    # Twice ten seconds, and a twentieth more: the jitter of this worker.
    assert worker.telemetry.metrics["GuardWaitMilliseconds"] == 21_000


def test_pace_that_does_not_fit_into_the_run_is_told(worker: Worker) -> None:
    """R23: nobody is charged for it."""
    worker.answer(replace(ANSWER, allowance=Allowance(RateLimit(0, 6000.0, 10))))
    worker.ask()

    failure = worker.ask_in_vain()

    assert failure.kind is FailureKind.THROTTLED
    assert failure.message == "what the provider takes in a minute is used up"
    assert not failure.is_asked
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
    [
        (Circuit.OPEN, NOW_MS + 200_000, 105.0),
        (Circuit.OPEN, NOW_MS + 95_500, 0.5),
        (Circuit.OPEN, NOW_MS + 95_000, None),
        (Circuit.PAUSED, 0, None),
    ],
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


def test_open_breaker_is_looked_at_every_second_or_two(worker: Worker) -> None:
    """R25: with a random part, so that the workers do not look together."""
    worker.set_provider(Breaker(Circuit.OPEN, "down", NOW_MS, due_ms=NOW_MS + 30_000))
    looked = []

    def look() -> None:
        looked.append(worker.seconds)
        if len(looked) == 3:
            worker.set_provider(Breaker())

    worker.meanwhile = look
    worker.ask()

    assert looked[:3] == [1.5, 3.0, 4.5]


def test_request_that_failed_counts_for_the_pace() -> None:
    """R23: by what was asked for, as no answer says what it took."""
    worker = Worker(tokens_per_minute=600, workers=10)
    worker.answer(DOWN, ANSWER)
    worker.ask_in_vain()

    worker.ask()

    [(first, _), (second, _)] = worker.embedder.asked
    assert (first, second > 0) == (0, True)


def test_short_run_is_divided_as_a_long_one_is(worker: Worker) -> None:
    """R23: on one machine the schedules are shortened."""
    worker.begin(seconds=4.0)
    worker.control.cool("default", until_ms=NOW_MS + 2_000, after=0)

    worker.ask()

    [(asked_ms, timeout)] = worker.embedder.asked
    assert 2_000 <= asked_ms <= 3_500
    assert timeout == pytest.approx(4.0 - asked_ms / 1000)


@pytest.mark.parametrize(
    ("named", "packed"), [(None, 300_000), (5000, 5000), (400, 400), (399, 300_000)]
)
def test_limit_of_the_headers_is_that_of_a_request(
    worker: Worker, named: int | None, packed: int
) -> None:
    """R09 R23: a request above it would be throttled for ever; below one chunk it is none."""
    worker.answer(replace(ANSWER, allowance=Allowance(tokens=RateLimit(0, 60, named))))
    worker.ask()

    assert worker.guarded.limits.tokens_per_request == packed
