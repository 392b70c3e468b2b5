"""The budget of one worker: reserved, settled, given back, and asked for once in a run."""

from typing import Any

import pytest

from functions.core.budget import NANO, Raised, Spent
from functions.core.control import Control
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.lane import Lane
from local.memory.control import MemoryControl
from tests.builders import NOW_MS
from tests.unit.embed.guard.worker import ANSWER, DOWN, NO_KEY, TOO_FAST, Worker

# "hello" has five bytes, and the answer says seven tokens.
ESTIMATE, ANSWERED = 5, 7
TIMEOUT = Failure(FailureKind.TIMEOUT, "the provider did not answer in time")
REFUSED = Failure(FailureKind.PROVIDER_ERROR, "the provider answered 500", is_refused=True)


def worker(tokens_per_day: int = 100, **rest: Any) -> Worker:
    return Worker(budget={"tokens_per_day": tokens_per_day}, chunk_tokens=16, **rest)


def spent(worker: Worker) -> int:
    return worker.control.read("default").spent.tokens


def spend(worker: Worker, tokens: int) -> None:
    worker.control.items["default"] = Control(spent=Spent("2023-11-14", tokens, "2023-11"))


def test_answer_replaces_the_estimate() -> None:
    """R19: counted is what the provider says, of tokens and of dollars."""
    mine = worker(usd_per_million_tokens=0.02)

    mine.ask()

    assert mine.control.read("default").spent == Spent("2023-11-14", 7, "2023-11", 140)


@pytest.mark.parametrize(("answer", "left"), [(ANSWER, 100 - ANSWERED), (DOWN, 100 - ESTIMATE)])
def test_next_request_is_as_small_as_what_is_left(answer: Any, left: int) -> None:
    """R19: by what this worker has spent itself, without another look at the control item."""
    mine = worker()
    mine.answer(answer)

    if answer is ANSWER:
        mine.ask()
    else:
        mine.ask_in_vain()
    mine.control.items.clear()

    assert mine.guard.spending.at_most(1000) == left


def test_estimate_stands_where_no_answer_came() -> None:
    """R19: as after a kill, nothing is settled."""
    mine = worker()
    mine.answer(RuntimeError("not one of ours"))

    with pytest.raises(RuntimeError):
        mine.ask()

    assert spent(mine) == ESTIMATE


@pytest.mark.parametrize(
    ("failure", "counted"),
    [(TIMEOUT, ESTIMATE), (DOWN, ESTIMATE), (REFUSED, 0), (NO_KEY, 0)],
    ids=["timeout", "an answer that cannot be read", "500", "401"],
)
def test_failure_that_cost_nothing_gives_the_reservation_back(
    failure: Failure, counted: int
) -> None:
    """R19: what may be billed stays counted."""
    mine = worker()
    mine.answer(failure)

    mine.ask_in_vain()

    assert spent(mine) == counted


def test_throttled_request_is_counted_once_it_passes() -> None:
    """R19 R23: not for each time that it was throttled."""
    mine = worker()
    mine.answer(TOO_FAST, TOO_FAST, ANSWER)

    mine.ask()

    assert spent(mine) == ANSWERED


def test_request_that_does_not_fit_is_not_sent() -> None:
    """R19: the failure says until when, and what to do."""
    mine = worker()
    spend(mine, 96)

    failure = mine.ask_in_vain()

    assert (failure.kind, failure.is_asked) == (FailureKind.BUDGET, False)
    assert failure.message == (
        "the budget, 100 tokens a day, is used up until 2023-11-15 00:00 UTC:"
        " raise it with `embedq budget raise`, or wait"
    )
    assert (mine.embedder.asked, spent(mine)) == ([], 96)
    assert mine.events() == ["budget_refused"]


class CountingControl(MemoryControl):
    """Counts the reservations that were tried."""

    tried = 0

    def reserve(self, *args: object, **options: object) -> Spent | None:
        self.tried += 1
        return super().reserve(*args, **options)  # type: ignore[arg-type]


def test_refused_worker_asks_again_in_its_next_run_only() -> None:
    """R19: thousands of tasks at the cap cost one write a run."""
    control = CountingControl()
    mine = worker(control=control)
    spend(mine, 100)

    mine.ask_in_vain(50)
    assert control.tried == 1

    mine.end()
    mine.control.items["default"] = Control()
    mine.begin()
    assert mine.ask() == ANSWER


def test_bulk_stops_before_live_work_does() -> None:
    """R19: the live share is kept for it."""
    mine = worker()
    spend(mine, 80)
    mine.end()

    with mine.guard.run(lambda: 100.0, is_live=Lane.BULK.traits.is_live):
        failure = mine.ask_in_vain()
    mine.begin()

    assert failure.message.startswith("what bulk may take of the budget, 80 tokens a day,")
    assert mine.ask() == ANSWER


def test_raised_budget_is_seen_in_the_next_run() -> None:
    """R19: and ends at its time."""
    mine = worker()
    spend(mine, 100)
    mine.ask_in_vain()
    raised = Raised(NOW_MS + 60_000, tokens=120, since_ms=NOW_MS)
    mine.control.raise_budget("default", Raised(), raised)

    mine.begin()
    assert mine.ask() == ANSWER

    mine.clock.advance(60)
    mine.begin()
    assert mine.ask_in_vain().kind is FailureKind.BUDGET


def test_requests_are_no_larger_than_what_is_left() -> None:
    """R19: a day's budget below the provider's limit is spent, not waited for; a chunk at least."""
    mine = worker(1000)
    assert mine.guarded.limits.tokens_per_request == 1000

    spend(mine, 900)
    mine.clock.advance(3)
    assert mine.guarded.limits.tokens_per_request == 100

    spend(mine, 999)
    mine.clock.advance(3)
    assert mine.guarded.limits.tokens_per_request == 16


def test_without_a_budget_nothing_is_written() -> None:
    """R19: only those with one pay for it."""
    mine = Worker()

    mine.ask()

    assert mine.control.items == {}


def test_request_that_cannot_be_reserved_is_not_sent() -> None:
    """R19: everything else goes on without the control item, spending does not."""
    mine = worker()
    mine.ask()
    mine.control.is_down = True
    mine.clock.advance(60)

    failure = mine.ask_in_vain()

    assert failure.kind is FailureKind.STORE_UNAVAILABLE
    assert len(mine.embedder.asked) == 1


class DownForSettling(MemoryControl):
    """Takes reservations only."""

    def settle(self, *_: object) -> None:
        raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "the store is down"))


def test_settling_that_fails_leaves_the_estimate() -> None:
    """R19: the error is on the safe side, and the answer is used."""
    mine = worker(control=DownForSettling())

    assert mine.ask() == ANSWER
    assert spent(mine) == ESTIMATE


def test_dollars_are_refused_by_the_month() -> None:
    """R19: until the first of the next one."""
    mine = Worker(budget={"usd_per_month": 0.01}, usd_per_million_tokens=0.02, chunk_tokens=16)
    full = Spent("2023-11-14", 1, "2023-11", NANO // 100)
    mine.control.items["default"] = Control(spent=full)

    failure = mine.ask_in_vain()

    assert "0.01 USD a month, is used up until 2023-12-01 00:00 UTC" in failure.message
    with pytest.raises(FailureError):
        mine.ask()
