"""The counts of a run: what opens a breaker, and what only counts."""

import pytest

from functions.core.breaker import Breaker, Circuit, Timing, reopening
from functions.core.failure import Failure, FailureKind, Part, RefusedRequestError
from functions.core.ports import Embedded
from functions.core.settings import BreakerSettings
from tests.builders import NOW_MS
from tests.unit.embed.guard.worker import ANSWER, DOWN, Worker


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_failures_open_the_breaker_at_the_end_of_the_run(worker: Worker) -> None:
    """R25: half of ten, with the last failure as the reason."""
    worker.answer(*[ANSWER] * 5, DOWN)
    for _ in range(5):
        worker.ask()
    worker.ask_in_vain(times=5)
    before = worker.provider
    worker.end()

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

    worker.end()

    assert worker.provider.state is Circuit.CLOSED
    assert (worker.provider.successes, worker.provider.failures) == (passed, failed)


def test_healthy_run_is_counted_while_others_fail(worker: Worker) -> None:
    """R25: otherwise the ratio would be that of the failing ones alone."""
    window_ms = NOW_MS - NOW_MS % 60_000
    worker.control.count("default", Part.PROVIDER, window_ms=window_ms, successes=0, failures=3)
    worker.ask()

    worker.end()

    assert (worker.provider.successes, worker.provider.failures) == (1, 3)


def test_refused_text_is_no_failure_of_the_provider(worker: Worker) -> None:
    """R25: poison documents do not open a breaker; they show that somebody answers."""
    refused = RefusedRequestError(Failure(FailureKind.INVALID_INPUT, "it answered 400"))
    worker.answer(*[refused] * 11, DOWN)
    worker.ask_in_vain(times=21)

    worker.end()

    assert worker.provider.state is Circuit.CLOSED
    assert (worker.provider.successes, worker.provider.failures) == (11, 10)


def test_healthy_run_never_opens_a_breaker(worker: Worker) -> None:
    """R25: it has no reason to give."""
    window_ms = NOW_MS - NOW_MS % 60_000
    worker.control.count("default", Part.PROVIDER, window_ms=window_ms, successes=0, failures=30)
    worker.ask()

    worker.end()

    assert worker.provider.state is Circuit.CLOSED


def test_failures_from_before_do_not_open_a_reopened_breaker(worker: Worker) -> None:
    """R25: a change of state begins a new window."""
    worker.answer(DOWN)
    worker.ask_in_vain(times=30)
    worker.end()
    worker.set_provider(
        reopening(
            worker.provider, Timing(NOW_MS + 1, BreakerSettings(), 0.0), reason="a probe has passed"
        )
    )
    worker.clock.advance(3)
    worker.begin()

    worker.ask_in_vain(times=9)
    worker.end()

    assert worker.provider.state is Circuit.REOPENING
    assert worker.provider.failures == 9


def test_many_failures_are_told_before_the_breaker_opens(worker: Worker) -> None:
    """R26: half way there, packs are halved and retries cut."""
    worker.answer(*[ANSWER] * 7, DOWN)
    for _ in range(7):
        worker.ask()
    worker.ask_in_vain(times=2)
    before = worker.guard.tally.is_failing

    worker.ask_in_vain()

    assert (before, worker.guard.tally.is_failing) == (False, True)


@pytest.mark.parametrize(("successes", "failing"), [(70, True), (110, False)])
def test_failures_of_the_other_workers_are_heard_of(
    worker: Worker, successes: int, failing: bool
) -> None:
    """R26: by the item, and only of this window."""
    window_ms = NOW_MS - NOW_MS % 60_000
    worker.control.count(
        "default", Part.INDEX, window_ms=window_ms, successes=successes, failures=30
    )
    worker.ask()
    now = worker.guard.tally.is_failing

    worker.clock.advance(61)
    worker.ask()

    assert (now, worker.guard.tally.is_failing) == (failing, False)


def test_successes_of_a_window_before_count_no_more(worker: Worker) -> None:
    """R26: three of twelve is failing, whatever was before."""
    worker.control.count(
        "default", Part.PROVIDER, window_ms=NOW_MS - 120_000, successes=500, failures=1
    )
    worker.answer(*[ANSWER] * 9, DOWN)
    for _ in range(9):
        worker.ask()

    worker.ask_in_vain(times=3)

    assert worker.guard.tally.is_failing


@pytest.mark.parametrize(
    ("seconds", "times", "state"),
    [
        (15, 3, Circuit.CLOSED),
        (15, 4, Circuit.OPEN),
        (24, 2, Circuit.CLOSED),
        (24.001, 2, Circuit.OPEN),
        (1, 9, Circuit.CLOSED),
    ],
)
def test_slow_failures_of_one_worker_open_the_breaker(
    worker: Worker, seconds: float, times: int, state: Circuit
) -> None:
    """R25: a provider that never answers is asked twice a minute, not ten times."""
    worker.answer(DOWN)
    worker.embedder.seconds = seconds
    worker.ask_in_vain(times=times)

    worker.end()

    assert worker.provider.state is state


def test_slow_failures_beside_an_answer_count_once(worker: Worker) -> None:
    """R25: the provider is there; these documents may be the cause."""
    worker.answer(ANSWER, DOWN)
    worker.ask()
    worker.embedder.seconds = 30
    worker.ask_in_vain(times=2)

    worker.end()

    assert (worker.provider.state, worker.provider.failures) == (Circuit.CLOSED, 2)


@pytest.mark.parametrize(("times", "counted"), [(20, (0, 0)), (21, (21, 1))])
def test_failures_that_a_document_causes_open_no_breaker(
    worker: Worker, times: int, counted: tuple[int, int]
) -> None:
    """R25 R35: the provider answered for another text in the same run; they count as passed."""
    worker.answer(ANSWER, DOWN)
    worker.ask()
    worker.ask_in_vain(times=times)

    worker.guard.tally.excuse(Part.PROVIDER, 20)
    worker.end()

    assert worker.provider.state is Circuit.CLOSED
    assert (worker.provider.successes, worker.provider.failures) == counted


def test_only_failures_that_were_counted_are_excused(worker: Worker) -> None:
    """R25: a text that is throttled may be judged by that, and throttling is no failure."""
    worker.answer(ANSWER, DOWN)
    worker.ask()
    worker.ask_in_vain(times=2)

    worker.guard.tally.excuse(Part.PROVIDER, 3)
    worker.guard.tally.failed(Part.PROVIDER, DOWN, seconds=0)
    worker.end()

    assert (worker.provider.successes, worker.provider.failures) == (3, 1)


def test_answer_without_one_good_vector_is_a_failure(worker: Worker) -> None:
    """R25: of several, one is enough."""
    vector = ANSWER.results[0]
    worker.answer(Embedded([vector, DOWN], 7), Embedded([DOWN], 7))
    for _ in range(2):
        worker.ask()

    worker.end()

    assert (worker.provider.successes, worker.provider.failures) == (1, 1)
