"""The index behind the guard: left alone while its breaker is open."""

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from itertools import cycle

import pytest

from functions.core.breaker import Breaker, Circuit
from functions.core.control import Control
from functions.core.entry import Entry, StoredEntry, Tombstone, WriteResult, Written
from functions.core.failure import Failure, FailureError, FailureKind, MissingIndexError
from functions.core.identity import DocumentId, EntryId
from functions.embed.guard.guard import Guard
from functions.embed.guard.guarded import GuardedIndex
from local.memory.control import MemoryControl
from local.memory.runtime import MemoryTelemetry, MovableClock
from tests.builders import NOW_MS, make_target

AWAY = Failure(FailureKind.INDEX_UNAVAILABLE, "OpenSearch answered 503")
BUSY = Failure(FailureKind.INDEX_BUSY, "OpenSearch answered 429")
GONE = Failure(FailureKind.CONFIGURATION, "OpenSearch has no index behind it")
REJECTED = Failure(FailureKind.INDEX_REJECTED, "OpenSearch answered 400")


class Answering:
    """An index with one answer for everything."""

    def __init__(self, answer: WriteResult) -> None:
        self.answer = answer
        self.others: WriteResult = answer  # of every second entry
        self.asked = 0

    def read(
        self,
        ids: Sequence[EntryId],  # noqa: ARG002
        *,
        hashes: Collection[str] = (),  # noqa: ARG002
    ) -> dict[EntryId, StoredEntry]:
        self.asked += 1
        if isinstance(self.answer, Failure):
            raise FailureError(self.answer)
        return {}

    def write(
        self,
        entries: Sequence[Entry | Tombstone],
        *,
        searchable_now: bool,  # noqa: ARG002
    ) -> dict[EntryId, WriteResult]:
        self.asked += 1
        answers = cycle((self.answer, self.others))
        return {entry.entry_id: next(answers) for entry in entries}


class Worker:
    """A guarded index with everything around it."""

    def __init__(self, answer: WriteResult, breaker: Breaker = Breaker()) -> None:  # noqa: B008
        self.clock = MovableClock(NOW_MS)
        self.control = MemoryControl()
        self.control.items["default"] = Control(index=breaker)
        self.telemetry = MemoryTelemetry()
        self.guard = Guard(
            make_target(),
            self.control,
            self.telemetry,
            self.clock,
            self.clock.advance,
            lambda: 0.5,
        )
        self.run = ExitStack()
        self.run.enter_context(self.guard.run(lambda: 100 - (self.clock() - NOW_MS) / 1000))
        self.behind = Answering(answer)
        self.index = GuardedIndex(self.behind, self.guard)

    def write(self, count: int) -> dict[EntryId, WriteResult]:
        stones = [
            Tombstone("articles", DocumentId(str(n)), NOW_MS, None, None, NOW_MS)
            for n in range(count)
        ]
        return self.index.write(stones, searchable_now=False)

    @property
    def breaker(self) -> Breaker:
        return self.control.read("default").index


@pytest.mark.parametrize("failure", [AWAY, BUSY], ids=["away", "busy"])
def test_requests_that_the_index_does_not_take_open_its_breaker(failure: Failure) -> None:
    """R25: each counts; the provider's breaker has nothing to do with it."""
    worker = Worker(failure)

    results = [worker.write(10) for _ in range(10)]
    worker.run.close()

    assert all(set(result.values()) == {failure} for result in results)
    assert worker.breaker.state is Circuit.OPEN
    assert worker.control.read("default").provider == Breaker()
    assert worker.telemetry.events[0][1]["part"] == "index"


def test_one_request_without_an_answer_stops_no_lane() -> None:
    """R25 R35: it is one failure, however many entries it has."""
    worker = Worker(AWAY)

    worker.write(200)
    worker.run.close()

    assert worker.breaker.state is Circuit.CLOSED
    assert worker.breaker.failures == 1


def test_entries_that_a_busy_index_takes_in_part_count_one_by_one() -> None:
    """R25: of an answer that is good for some of them."""
    worker = Worker(BUSY)
    worker.behind.others = Written.WRITTEN

    worker.write(40)
    worker.run.close()

    assert (worker.breaker.failures, worker.breaker.successes) == (20, 20)


@pytest.mark.parametrize("result", [Written.WRITTEN, Written.CONFLICT, REJECTED])
def test_entries_that_were_decided_on_do_not(result: WriteResult) -> None:
    """R25: a newer version and a mapping error are answers of a healthy index."""
    worker = Worker(result)

    worker.write(50)
    worker.run.close()

    assert worker.breaker == Breaker()


def test_reads_that_fail_count_too() -> None:
    """R25: and the failure reaches whoever asked."""
    worker = Worker(AWAY)

    for _ in range(10):
        with pytest.raises(FailureError, match="503"):
            worker.index.read([EntryId("a")])
    worker.run.close()

    assert worker.breaker.state is Circuit.OPEN


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (MissingIndexError(GONE), Circuit.CLOSED),
        (FailureError(GONE), Circuit.OPEN),
    ],
    ids=["missing", "another setting"],
)
def test_missing_index_of_another_target_does_not_count(
    error: FailureError, state: Circuit
) -> None:
    """R14 R25: of the own one it opens the breaker at once, as any setting that is wrong."""

    class Raising(Answering):
        def read(self, *_: object, **__: object) -> dict[EntryId, StoredEntry]:
            raise error

    states = []
    for may_be_missing in (True, False):
        worker = Worker(Written.WRITTEN)
        index = GuardedIndex(Raising(Written.WRITTEN), worker.guard, may_be_missing=may_be_missing)
        with pytest.raises(FailureError):
            index.read([EntryId("a")])
        worker.run.close()
        states.append(worker.breaker.state)

    assert states == [state, Circuit.OPEN]


def test_index_is_left_alone_while_its_breaker_is_open() -> None:
    """R25: the run waits as long as it may, and then no attempt is spent."""
    worker = Worker(Written.WRITTEN, Breaker(Circuit.OPEN, "away", NOW_MS, due_ms=NOW_MS + 1))

    with pytest.raises(FailureError) as caught:
        worker.write(1)

    assert worker.behind.asked == 0
    assert worker.clock() == NOW_MS + 100_000
    assert caught.value.failure == Failure(FailureKind.PAUSED, "the index's breaker is open: away")


def test_healthy_index_answers_as_if_there_were_no_guard() -> None:
    """R25: the steps know nothing of it."""
    worker = Worker(Written.WRITTEN)

    assert worker.index.read([EntryId("a")]) == {}
    assert set(worker.write(2).values()) == {Written.WRITTEN}
