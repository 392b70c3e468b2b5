"""Stories of two things that happen at once, on the in-memory engines."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pytest

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Swapped
from functions.core.retry_policy import PRESETS, RetrySettings
from functions.embed import process
from functions.sweep.requeue import Requeue
from local.memory.ledger import MemoryLedger
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline, make_target
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import paid_texts, row, texts, write

BROKEN = Failure(FailureKind.PROVIDER_ERROR, "503")
TOO_LATE = Failure(FailureKind.STORE_UNAVAILABLE, "the ledger did not answer in time")
HOUR_MS = 3_600_000


def requeue(pipeline: MemoryPipeline) -> Requeue:
    return Requeue(pipeline.ledger, pipeline.queues, pipeline.telemetry, pipeline.clock)


def last_event(pipeline: MemoryPipeline, name: str) -> Status:
    return [event.status for event in pipeline.announcer.events if event.document_id == name][-1]


def once(embedder: FakeEmbedder, happen: Callable[[], None]) -> None:
    """Let something happen while the next request is under way."""

    def meanwhile() -> None:
        embedder.meanwhile = lambda: None
        happen()

    embedder.meanwhile = meanwhile


def test_task_that_another_run_has_parked_does_not_wait_for_a_day(embedder: FakeEmbedder) -> None:
    """R29 R31: SQS gave one message to two runs, and counted both; the second one parked the task
    and acknowledged the message, which the first one would have hidden."""
    slow, quick = RetrySettings(default=PRESETS["slow-5"]), RetrySettings()
    pipeline = make_pipeline(target={"retry": quick}, embedders={"default": embedder})
    other = pipeline.new_worker(make_target(retry=slow))
    write(pipeline, "a", "hello")
    pipeline.deliver_new()
    began_ms = pipeline.clock()
    [message] = pipeline.queues.receive("default/normal", 10)

    def second_run() -> None:
        again = replace(message, receive_count=2)
        assert other.process([again], pipeline.seconds_left()) == []
        pipeline.queues.acknowledge(again)

    embedder.failures = [BROKEN, BROKEN]
    once(embedder, second_run)
    assert pipeline.embed["default"].process([message], pipeline.seconds_left()) == []
    assert row(pipeline, "a").progress.parked

    pipeline.drain()

    assert row(pipeline, "a").status is Status.COMPLETED
    assert pipeline.clock() - began_ms < HOUR_MS


class ThrottledLedger(MemoryLedger):
    """Takes the first ends of documents, and then none for a while."""

    takes, refuses = 0, 0

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if any(one.status is Status.COMPLETED for one in rows):
            if self.takes:
                self.takes -= 1
            elif self.refuses:
                self.refuses -= 1
                raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "throttled"))
        return super().write(rows)


@pytest.mark.parametrize("takes", [0, 1, 2])
@pytest.mark.parametrize("refuses", [1, 2, 5])
def test_ledger_that_is_throttled_in_a_batch_that_is_paid(
    takes: int, refuses: int, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R13 R31: each text is paid once, no attempt is spent, and each end is announced."""
    # Each document in a load of its own, which is closed by itself.
    monkeypatch.setattr(process, "LARGEST_SHARING_TOKENS", 0)
    ledger = ThrottledLedger()
    ledger.takes, ledger.refuses = takes, refuses
    pipeline = make_pipeline(embedders={"default": embedder}, ledger=ledger)
    for number in range(4):
        write(pipeline, f"{number}", f"text {number}")

    pipeline.drain()

    paid = paid_texts(embedder)
    assert len(paid) == len(set(paid))
    rows = pipeline.ledger.rows.values()
    assert {(one.status, one.progress.attempts) for one in rows} == {(Status.COMPLETED, 1)}
    assert {last_event(pipeline, f"{number}") for number in range(4)} == {Status.COMPLETED}
    assert pipeline.queues.dead_letters() == []


class SlowLedger(MemoryLedger):
    """Does what it is told, but answers too late; perhaps also where it is read right after."""

    def __init__(self, *, is_read_late: bool) -> None:
        super().__init__()
        self.is_late = False
        self._is_read_late = is_read_late
        self._has_just_written = False

    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        has_just_written, self._has_just_written = self._has_just_written, False
        if has_just_written and self._is_read_late:
            raise FailureError(TOO_LATE)
        return super().read(keys)

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        swapped = super().write(rows)
        if rows and self.is_late:
            self._has_just_written = True
            raise FailureError(TOO_LATE)
        return swapped


@pytest.mark.parametrize("is_read_late", [False, True])
def test_ledger_whose_answers_come_too_late_spends_no_attempt(is_read_late: bool) -> None:
    """R22 R31: what it has marked as in work is not taken for what a crashed run has left."""
    ledger = SlowLedger(is_read_late=is_read_late)
    pipeline = make_pipeline(source={"priority_attribute": "lane"}, ledger=ledger)
    for number in range(5):
        write(pipeline, f"{number}", f"text {number}", lane="bulk")
    pipeline.deliver_new()

    ledger.is_late = True
    for _ in range(90):
        pipeline.run("default/bulk", most=10)
        pipeline.clock.advance(10)
    ledger.is_late = False
    pipeline.drain()

    rows = pipeline.ledger.rows.values()
    assert {(one.status, one.progress.attempts) for one in rows} == {(Status.COMPLETED, 1)}
    assert pipeline.queues.dead_letters() == []


@pytest.mark.parametrize("redrive_first", [True, False])
@pytest.mark.parametrize("is_cured", [True, False])
def test_dead_letters_are_redriven_while_their_documents_are_sent_again(
    redrive_first: bool, is_cured: bool, pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R20 R31 R41: two operators at once; each document ends once, and at most one letter stays."""
    names = [f"{number}" for number in range(8)]
    for name in names:
        write(pipeline, name, f"poison {name}")
    pipeline.drain()
    assert len(pipeline.queues.dead_letters()) == 8
    if is_cured:
        embedder.by_word.clear()
    pipeline.clock.advance(60)
    keys = [row(pipeline, name).row_key for name in names]

    def send_again() -> None:
        for key in keys:
            requeue(pipeline).push(key, Lane.BULK)

    def redrive() -> None:
        assert pipeline.queues.redrive() == 8

    if redrive_first:
        pipeline.queues.redrive()
        once(embedder, send_again)
    else:
        send_again()
        once(embedder, redrive)
    pipeline.drain()

    expected = Status.COMPLETED if is_cured else Status.FAILED
    assert {row(pipeline, name).status for name in names} == {expected}
    assert {last_event(pipeline, name) for name in names} == {expected}
    assert len(texts(pipeline)) == (8 if is_cured else 0)
    letters = pipeline.queues.dead_letters()
    assert len(letters) == (0 if is_cured else 8)


@pytest.mark.parametrize("is_worked", [True, False])
def test_delete_that_comes_while_a_poison_is_given_up(
    is_worked: bool, pipeline: MemoryPipeline, embedder: FakeEmbedder
) -> None:
    """R07 R27: the document is deleted, the last event says so, and no redrive brings it back."""
    write(pipeline, "a", "poison")
    pipeline.deliver_new()

    def delete() -> None:
        pipeline.tables["articles"].delete({"id": "a"})
        pipeline.deliver_new()
        if is_worked:
            other = pipeline.new_worker(make_target())
            messages = pipeline.queues.receive("default/delete", 10)
            assert other.process(messages, pipeline.seconds_left()) == []
            pipeline.queues.acknowledge(messages[0])

    once(embedder, delete)
    pipeline.drain()

    assert (row(pipeline, "a").status, last_event(pipeline, "a")) == (Status.DELETED,) * 2
    pipeline.queues.redrive()
    pipeline.drain()
    assert (row(pipeline, "a").status, last_event(pipeline, "a")) == (Status.DELETED,) * 2
    assert texts(pipeline) == {}
    assert pipeline.queues.dead_letters() == []
