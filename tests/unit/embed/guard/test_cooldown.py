"""A throttled provider: all workers wait, and one of them asks for all."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from functions.core.breaker import Breaker
from functions.core.control import Control, Cooldown
from functions.core.failure import (
    Failure,
    FailureKind,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import Embedded
from tests.builders import NOW_MS
from tests.unit.embed.guard.worker import (
    ANSWER,
    DOWN,
    NO_KEY,
    RUN_SECONDS,
    TOO_FAST,
    Scripted,
    Worker,
)


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_throttled_request_is_sent_again_in_the_same_run(worker: Worker) -> None:
    """R23: after Retry-After, as a whole, and the cooldown ends with it."""
    worker.answer(TOO_FAST, ANSWER)

    assert worker.ask() == ANSWER

    [_, (again_ms, _)] = worker.embedder.asked
    assert 20_000 <= again_ms <= 22_000
    assert worker.control.read("default") == Control()
    assert worker.events() == ["cooldown_started", "cooldown_ended"]
    assert worker.telemetry.metrics["ProviderThrottled"] == 1


def test_answer_that_is_throttled_in_part_keeps_its_vectors_and_all_workers_wait(
    worker: Worker,
) -> None:
    """R13 R23: of a provider that takes one text a request."""
    partly = Embedded([ANSWER.results[0], TOO_FAST], 7, requests=2)
    worker.answer(partly, ANSWER)

    assert worker.ask() == partly
    assert worker.events() == ["cooldown_started"]
    assert worker.ask() == ANSWER

    [_, (next_ms, _)] = worker.embedder.asked
    assert 20_000 <= next_ms <= 22_000


def test_throttling_is_no_failure(worker: Worker) -> None:
    """R23 R25: it never opens a breaker, and no document is charged."""
    worker.answer(replace(TOO_FAST, retry_after_seconds=None))

    failure = worker.ask_in_vain()
    worker.end()

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
    """R23: the others wait until it knows more; a crashed one releases the claim by expiry."""
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


def test_worker_asks_as_soon_as_the_cooldown_is_over(worker: Worker) -> None:
    """R23: with a claim that outlives its request by five seconds."""
    worker.control.cool("default", until_ms=NOW_MS, after=0)
    claims = []

    class Looking(Scripted):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            claims.append(worker.control.read("default").cooldown.claimed_until_ms)
            return super().embed(texts, timeout_seconds=timeout_seconds)

    worker.embedder = Looking(worker.clock)
    worker.ask()

    assert worker.embedder.asked == [(0, 30.0)]
    assert claims == [NOW_MS + 35_000]


@pytest.mark.parametrize(("until_ms", "asked_ms"), [(-5_000, 1_500), (0, 1_500), (500, 1_000)])
def test_worker_looks_again_while_another_has_the_claim(
    worker: Worker, until_ms: int, asked_ms: int
) -> None:
    """R23: not before the cooldown is over, and then every second, with a random part."""
    cooldown = Cooldown(NOW_MS + until_ms, throttles=1, claimed_until_ms=NOW_MS + 60_000)
    worker.control.items["default"] = Control(cooldown=cooldown)
    worker.meanwhile = worker.control.items.clear

    worker.ask()

    assert [ms for ms, _ in worker.embedder.asked] == [asked_ms]


def test_claim_ends_with_the_cooldown(worker: Worker) -> None:
    """R23: the next cooldown needs a claim of its own."""
    worker.control.cool("default", until_ms=NOW_MS - 1, after=0)
    worker.ask()

    class Late(Scripted):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            worker.control.cool("default", until_ms=worker.clock() + 30_000, after=0)
            return super().embed(texts, timeout_seconds=timeout_seconds)

    worker.embedder = Late(worker.clock)
    worker.ask()

    assert worker.control.read("default").cooldown.throttles == 1
    assert worker.events() == ["cooldown_ended"]


def test_throttled_worker_has_no_claim_any_more(worker: Worker) -> None:
    """R23: its next answer to a question from before ends no cooldown of the others."""
    worker.answer(TOO_FAST)
    worker.begin(seconds=8.0)
    worker.ask_in_vain()
    worker.control.items.clear()
    worker.clock.advance(30)

    class Late(Scripted):
        def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
            worker.control.cool("default", until_ms=worker.clock() + 30_000, after=0)
            return super().embed(texts, timeout_seconds=timeout_seconds)

    worker.embedder = Late(worker.clock)
    worker.begin()
    worker.ask()

    assert worker.control.read("default").cooldown.throttles == 1
    assert worker.events() == ["cooldown_started"]


def test_throttled_worker_waits_alone_while_the_item_is_unreadable(worker: Worker) -> None:
    """R23 R25: less and less often, although it cannot tell the others."""
    worker.control.is_down = True
    unsaid = replace(TOO_FAST, retry_after_seconds=None)
    worker.answer(unsaid, unsaid, unsaid, ANSWER)

    worker.ask()

    asked = [ms / 1000 for ms, _ in worker.embedder.asked]
    assert asked == pytest.approx([0, 1.5, 4, 8.5])


@pytest.mark.parametrize(("texts", "asked"), [(["one", "two"], 3), (["one"], 4)])
def test_request_that_is_throttled_three_times_in_a_row_is_to_be_split(
    worker: Worker, texts: list[str], asked: int
) -> None:
    """R23: it may be above what the provider takes at once; one text has nothing to split."""
    worker.answer(*[replace(TOO_FAST, retry_after_seconds=1.0)] * 3, ANSWER)

    if len(texts) > 1:
        with pytest.raises(TooLargeRequestError):
            worker.guarded.embed(texts, timeout_seconds=10)
    else:
        worker.guarded.embed(texts, timeout_seconds=10)

    assert len(worker.embedder.asked) == asked


def test_run_that_ends_while_it_waits_says_whose_request_was_throttled(worker: Worker) -> None:
    """R23: only a request that was asked counts as throttled itself."""
    worker.answer(replace(TOO_FAST, retry_after_seconds=300.0))

    own, other = worker.ask_in_vain(), worker.ask_in_vain()

    assert (own.is_asked, own.message) == (True, TOO_FAST.message)
    assert not other.is_asked


def test_busy_provider_is_left_alone_as_long_as_it_asks(worker: Worker) -> None:
    """R23: Retry-After of a 503 is for all workers, too."""
    worker.answer(replace(DOWN, retry_after_seconds=30.0), ANSWER)

    worker.ask_in_vain()
    worker.ask()

    [(first_ms, _), (second_ms, _)] = worker.embedder.asked
    assert 30_000 <= second_ms - first_ms <= 32_000
