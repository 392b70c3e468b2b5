"""The control item as one worker sees it: changed once, and never in the way."""

from dataclasses import replace

import pytest

from functions.core.breaker import Breaker, Circuit
from functions.core.control import Control, Cooldown
from functions.core.failure import Part
from functions.embed.guard.shared_control import SharedControl
from local.memory.control import MemoryControl
from tests.builders import NOW_MS
from tests.unit.embed.guard.worker import ANSWER, DOWN, NO_KEY, Worker


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_breaker_that_is_open_is_not_opened_again(worker: Worker) -> None:
    """R25: a run that ends late does not put the next probe off."""
    worker.answer(DOWN)
    worker.ask_in_vain(times=20)
    standing = Breaker(Circuit.OPEN, "down", NOW_MS - 120_000, due_ms=NOW_MS + 1)
    worker.set_provider(standing)
    worker.clock.advance(3)

    worker.guard.failed(Part.PROVIDER, NO_KEY)
    worker.end()

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


def test_person_who_was_faster_is_not_overruled(worker: Worker) -> None:
    """R25: a pause stays a pause."""
    worker.answer(DOWN)
    worker.ask_in_vain(times=20)
    paused = Breaker(Circuit.PAUSED, "moving house", NOW_MS)
    worker.set_provider(paused)

    worker.end()

    assert worker.provider.state is Circuit.PAUSED
    assert worker.events() == []


def test_unreadable_item_stops_nobody(worker: Worker) -> None:
    """R25: it is told of once in each run."""
    worker.control.is_down = True
    worker.answer(ANSWER, DOWN)

    worker.ask()
    worker.ask_in_vain(times=20)
    worker.end()
    worker.begin()
    worker.clock.advance(5)
    worker.ask_in_vain()

    assert len(worker.embedder.asked) == 22
    assert worker.events() == ["control_unreadable"] * 2
    assert worker.telemetry.metrics["ControlUnreadable"] == 2


OPEN = Breaker(Circuit.OPEN, "down", NOW_MS)


def view_of(worker: Worker) -> SharedControl:
    return SharedControl(
        worker.target, worker.control, worker.telemetry, worker.clock, jitter=lambda: 0.0
    )


def test_item_is_read_at_most_every_two_seconds(worker: Worker) -> None:
    """R25: a run of many requests costs few reads."""
    shared = view_of(worker)
    shared.now()
    worker.set_provider(OPEN)

    worker.clock.advance(1.9)
    before = shared.now().provider
    worker.clock.advance(0.1)

    assert (before, shared.now().provider) == (Breaker(), OPEN)


def test_item_is_read_once_in_a_millisecond(worker: Worker) -> None:
    """R25: the first request of a run and its check of the index share a read."""
    shared = view_of(worker)
    shared.now()
    worker.set_provider(OPEN)

    assert shared.now().provider == Breaker()


def test_forgotten_item_is_read_at_once(worker: Worker) -> None:
    """R23: after a wait for another worker's request, its result is seen."""
    shared = view_of(worker)
    shared.now()
    worker.set_provider(OPEN)

    shared.forget()

    assert shared.now().provider == OPEN


def test_clock_that_went_back_reads_anew(worker: Worker) -> None:
    """R25: what was read in the future would be trusted for as long as it is ahead."""
    shared = view_of(worker)
    shared.now()
    worker.set_provider(OPEN)

    worker.clock.advance(-60)

    assert shared.now().provider == OPEN


def test_worker_without_the_item_keeps_only_its_own_cooldown(worker: Worker) -> None:
    """R23 R25: no breaker stops it, but it does not ask while it is throttled."""
    shared = view_of(worker)
    worker.set_provider(OPEN)
    shared.now()
    shared.cool(seconds=9)
    worker.control.is_down = True
    worker.clock.advance(3)

    known = shared.now()

    assert known == Control(cooldown=Cooldown(NOW_MS + 9_000, throttles=1))
    assert shared.claim(seconds=1)
    assert shared.count(Part.INDEX, window_ms=0, successes=1, failures=1) is None


def test_claim_lasts_as_long_as_it_says(worker: Worker) -> None:
    """R23: a crashed worker releases it by expiry."""
    worker.control.cool("default", until_ms=NOW_MS - 1, after=0)

    assert view_of(worker).claim(seconds=35)
    assert worker.control.read("default").cooldown.claimed_until_ms == NOW_MS + 35_000


def test_ended_cooldown_is_known_at_once(worker: Worker) -> None:
    """R23: the next request of this worker does not wait for the item to be read again."""
    shared = view_of(worker)
    shared.now()
    shared.cool(seconds=9)

    shared.warm()

    assert shared.now().cooldown == worker.control.read("default").cooldown == Cooldown()


def test_breaker_that_cannot_be_stored_is_not_logged_as_opened(worker: Worker) -> None:
    """R25: the event says what is so."""
    worker.control.is_down = True

    view_of(worker).open(Part.PROVIDER, Breaker(), "down")

    assert worker.events() == ["control_unreadable"]


def test_reason_of_a_breaker_is_cut(worker: Worker) -> None:
    """R25: a provider may answer with a page of HTML."""
    view_of(worker).open(Part.PROVIDER, Breaker(), "x" * 1000)

    assert worker.provider.reason == "x" * 300
