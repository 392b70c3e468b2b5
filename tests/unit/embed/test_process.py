"""One run of embed: what a failure of each stage costs, and in which order a batch is worked."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Quarantine, Status
from functions.core.next_step import LAST_HIDING_RECEIVE
from functions.core.task import parse_task
from functions.core.transitions import CONFIRM_MS
from functions.embed import process
from local.memory.index import HashedEmbedder, MemoryIndex
from local.memory.ledger import MemoryLedger, MemoryStash
from local.memory.pipeline import RUN_SECONDS, MemoryPipeline
from local.memory.queues import MemoryQueues
from local.memory.runtime import MemoryTelemetry
from local.memory.table import MemorySource
from tests.builders import changed, make_source, make_target

STORE_DOWN = FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "no answer"))
BUSY = FailureError(Failure(FailureKind.INDEX_BUSY, "429"))
DEFECT = ZeroDivisionError()


class Killed(BaseException):
    """The process is gone."""


class LoggingTelemetry(MemoryTelemetry):
    """Logs an unexpected error, as the deployed one does."""

    def unexpected(self, error: Exception) -> None:
        self.event("unexpected_error", error=type(error).__name__)


class Broken:
    """An adapter of which one method fails while `is_broken`."""

    def __init__(self, adapter: Any, method: str, error: BaseException) -> None:
        self._adapter = adapter
        self._method = method
        self._error = error
        self.is_broken = False

    def __getattr__(self, name: str) -> Any:
        if self.is_broken and name == self._method:
            raise self._error
        return getattr(self._adapter, name)


class Batch:
    """Documents a, b and c in the normal lane of a pipeline with one adapter that can break."""

    def __init__(self, kind: type, method: str, error: BaseException, **target: Any) -> None:
        self.broken: list[Broken] = []

        def around(adapter: Any, _: set[str]) -> Any:
            if not isinstance(adapter, kind):
                return adapter
            self.broken.append(Broken(adapter, method, error))
            return self.broken[-1]

        self.pipeline = MemoryPipeline(
            [make_source()], [make_target(**target)], telemetry=LoggingTelemetry(), around=around
        )
        for name in "abc":
            self.pipeline.tables["articles"].put({"id": name, "body": f"text of {name}"})
        self.pipeline.deliver_new()

    def run(self, *, is_broken: bool = True) -> list[LedgerRow]:
        for one in self.broken:
            one.is_broken = is_broken
        self.pipeline.run("default/normal")
        return list(self.pipeline.ledger.rows.values())

    def run_out_of_time(self) -> list[LedgerRow]:
        """Run a batch whose time is over as soon as it has begun."""
        queues = self.pipeline.queues
        messages = queues.receive("default/normal", 10)
        time = iter([120.0])
        failed = self.pipeline.embed["default"].process(messages, lambda: next(time, 0.0))
        for message in messages:
            if message.message_id not in failed:
                queues.acknowledge(message)
        return list(self.pipeline.ledger.rows.values())

    def events(self) -> list[str]:
        return [name for name, _ in self.pipeline.telemetry.events]


@pytest.mark.parametrize(
    ("kind", "method", "error", "attempts", "failure"),
    [
        (MemorySource, "read", STORE_DOWN, 0, FailureKind.STORE_UNAVAILABLE),
        (MemorySource, "read", DEFECT, 1, FailureKind.UNKNOWN),
        (MemoryIndex, "read", BUSY, 0, FailureKind.INDEX_BUSY),
        (MemoryIndex, "read", DEFECT, 1, FailureKind.UNKNOWN),
        (MemoryIndex, "write", BUSY, 0, FailureKind.INDEX_BUSY),
        (MemoryIndex, "write", DEFECT, 1, FailureKind.UNKNOWN),
        (HashedEmbedder, "embed", DEFECT, 1, FailureKind.UNKNOWN),
    ],
)
def test_failure_of_a_stage_is_the_failure_of_its_documents(
    kind: type, method: str, error: Exception, attempts: int, failure: FailureKind
) -> None:
    """R22 R31: each one's row has its kind, and every message comes again."""
    batch = Batch(kind, method, error)

    rows = batch.run()

    assert {(row.status, row.progress.attempts) for row in rows} == {(Status.PENDING, attempts)}
    assert {row.errors[-1].kind for row in rows} == {failure}
    assert batch.pipeline.queues.depth("default/normal") == 3
    assert ("unexpected_error" in batch.events()) is (error is DEFECT)

    batch.pipeline.clock.advance(3600)
    assert {row.status for row in batch.run(is_broken=False)} == {Status.COMPLETED}


def test_defect_is_named_in_the_row() -> None:
    """R24: without its text, which is in the log."""
    [first, *_] = Batch(MemorySource, "read", DEFECT).run()

    assert first.errors[-1].message == "unexpected ZeroDivisionError, see the log"


def test_each_document_of_a_mixed_batch_ends_by_itself() -> None:
    """R10 R24: deleted, invalid, good and too long ones in one run."""
    batch = Batch(MemoryStash, "write", STORE_DOWN, max_chunks=1, chunk_tokens=60)
    table = batch.pipeline.tables["articles"]
    table.put({"id": "d", "body": "good"})
    table.put({"id": "e", "body": "word " * 300})
    batch.pipeline.deliver_new()
    # What has changed since is read by the run, before its own changes come.
    first, second, third, *_ = table.items
    del table.items[first]
    table.items[second] |= {"body": {"M": {}}}
    table.items[third] |= {"body": {"S": "word " * 200}}

    batch.run()

    found = {row.task.document_id: row.status for row in batch.pipeline.ledger.rows.values()}
    assert found == {
        "a": Status.DELETED,
        "b": Status.FAILED,
        "c": Status.FAILED,
        "d": Status.COMPLETED,
        "e": Status.FAILED,
    }


@pytest.mark.parametrize(
    ("name", "limit", "requests"),
    [
        ("LOAD_CHUNKS", 2, [2, 1]),
        ("LOAD_CHUNKS", 3, [3]),
        ("LARGEST_SHARING_TOKENS", 399, [1, 1, 1]),
        ("LARGEST_SHARING_TOKENS", 400, [3]),
    ],
)
def test_load_of_a_run_is_bounded(
    monkeypatch: pytest.MonkeyPatch, name: str, limit: int, requests: list[int]
) -> None:
    """R09 R35: by its chunks, of 400 tokens each; a large document is a load by itself."""
    monkeypatch.setattr(process, name, limit)
    batch = Batch(MemoryStash, "write", STORE_DOWN)

    batch.run()

    embedder = batch.pipeline.embedders["default"]
    assert isinstance(embedder, HashedEmbedder)
    assert [len(texts) for texts in embedder.requests] == requests


@pytest.mark.parametrize("method", ["read", "write"])
def test_round_without_a_ledger_leaves_everything_as_it_was(method: str) -> None:
    """R31: nothing is paid, no attempt is spent, and no message is acknowledged."""
    batch = Batch(MemoryLedger, method, STORE_DOWN)
    batch.pipeline.queues.put("default/normal", "not ours", group=None, deduplication_id=None)
    before = list(batch.pipeline.ledger.rows.values())

    assert batch.run() == before
    assert "round_failed" in batch.events()
    assert batch.pipeline.telemetry.metrics["ProviderRequests"] == 0
    assert batch.pipeline.queues.depth("default/normal") == 4


def test_vectors_that_do_not_reach_the_index_are_stashed() -> None:
    """R13: they are paid once."""
    batch = Batch(MemoryIndex, "write", BUSY)

    assert {row.stashed for row in batch.run()} == {True}
    batch.pipeline.clock.advance(3600)
    rows = batch.run(is_broken=False)

    assert {(row.status, row.stashed) for row in rows} == {(Status.COMPLETED, False)}
    assert batch.pipeline.telemetry.metrics["ChunksPaid"] == 3


def test_type_of_the_document_is_on_its_row() -> None:
    """R21: it chooses the retry policy, also of an attempt that fails."""
    pipeline = MemoryPipeline([make_source(type_attribute="kind")], [make_target()])
    table = pipeline.tables["articles"]
    table.put({"id": "a", "body": "x", "kind": "note"})
    pipeline.deliver_new()
    # The item of an older task may have another type by now.
    table.put({"id": "a", "body": "x", "kind": "letter"})

    pipeline.run("default/normal")

    row = pipeline.row("a", source="articles")
    assert row is not None
    assert row.type == "letter"


def test_document_is_indexed_without_the_stash() -> None:
    """R13: the stash only saves money."""
    batch = Batch(MemoryStash, "write", STORE_DOWN)

    assert {row.status for row in batch.run()} == {Status.COMPLETED}


def change_all(batch: Batch, change: Callable[[LedgerRow], LedgerRow]) -> None:
    batch.pipeline.ledger.write([change(row) for row in batch.pipeline.ledger.rows.values()])


def test_run_without_time_hands_its_messages_back() -> None:
    """R31: nothing is started that cannot be finished."""
    batch = Batch(MemoryStash, "write", STORE_DOWN)
    before = list(batch.pipeline.ledger.rows.values())

    assert batch.run_out_of_time() == before
    assert batch.pipeline.queues.depth("default/normal") == 3


def test_documents_are_not_split_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """R31: a table that answers late leaves them as they are, also one that is too long."""
    batch = Batch(MemoryStash, "write", STORE_DOWN, max_chunks=1, chunk_tokens=16)
    table = batch.pipeline.tables["articles"]
    table.put({"id": "a", "body": "word " * 200})
    batch.pipeline.deliver_new()
    read = MemorySource.read

    def late(self: MemorySource, *given: Any) -> Any:
        batch.pipeline.clock.advance(RUN_SECONDS)
        return read(self, *given)

    monkeypatch.setattr(MemorySource, "read", late)

    assert {(row.status, row.errors) for row in batch.run()} == {(Status.PENDING, ())}


def test_task_that_no_run_has_time_for_is_parked_before_sqs_gives_it_up() -> None:
    """R20 R31: a free retry; its message is acknowledged."""
    batch = Batch(MemoryStash, "write", STORE_DOWN)
    for _ in range(LAST_HIDING_RECEIVE):
        rows = batch.run_out_of_time()
        batch.pipeline.clock.advance(3600)

    assert {(row.progress.parked, row.progress.attempts) for row in rows} == {(True, 0)}
    assert {row.errors[-1].kind for row in rows} == {FailureKind.NO_TIME}
    assert batch.pipeline.queues.depth("default/normal") == 0


def test_run_without_time_parks_only_what_came_often() -> None:
    """R20 R31: the other messages of the batch come again."""
    batch = Batch(MemoryStash, "write", STORE_DOWN)
    first, *others = batch.pipeline.queues.receive("default/normal", 10)
    often = replace(first, receive_count=LAST_HIDING_RECEIVE)
    time = iter([120.0])

    failed = batch.pipeline.embed["default"].process([often, *others], lambda: next(time, 0.0))

    assert failed == [message.message_id for message in others]
    rows = batch.pipeline.ledger.rows.values()
    assert [row.progress.parked for row in rows] == [True, False, False]


def test_suspect_that_sqs_will_soon_move_is_acknowledged_before_the_run_can_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R34 R35: its message is gone when the others of its batch come again."""
    batch = Batch(MemoryStash, "write", STORE_DOWN)
    first, *others = batch.pipeline.queues.receive("default/normal", 10)
    often = replace(first, receive_count=LAST_HIDING_RECEIVE)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MemorySource, "read", crash)
    with pytest.raises(KeyboardInterrupt):
        batch.pipeline.embed["default"].process([*others, often], lambda: 120.0)

    assert batch.pipeline.queues.depth("default/normal") == len(others)
    parked = [row.progress.parked for row in batch.pipeline.ledger.rows.values()]
    assert parked == [True, False, False]


def test_older_version_that_sqs_will_soon_move_is_acknowledged_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R35: a newer one is in the same batch, whose run may crash as those before."""
    batch = Batch(MemoryStash, "write", STORE_DOWN)
    older, *others = batch.pipeline.queues.receive("default/normal", 10)
    newer = replace(parse_task(older.body), version=parse_task(older.body).version + 1)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MemorySource, "read", crash)
    with pytest.raises(KeyboardInterrupt):
        batch.pipeline.embed["default"].process(
            [
                replace(older, receive_count=LAST_HIDING_RECEIVE),
                replace(older, message_id="newer", body=newer.to_json(), receipt_handle="newer"),
                *others,
            ],
            lambda: 120.0,
        )

    assert batch.pipeline.queues.depth("default/normal") == len(others)


@pytest.mark.parametrize(
    ("before", "requests"), [(Quarantine.NONE, [3]), (Quarantine.GROUP, [1, 1, 1])]
)
def test_tasks_of_a_crashed_run_are_worked_apart_step_by_step(
    before: Quarantine, requests: list[int]
) -> None:
    """R24 R31 R34: together at first, then one by one; no attempt is spent on either."""
    batch = Batch(MemoryStash, "write", STORE_DOWN)
    pipeline = batch.pipeline
    messages = iter(pipeline.queues.receive("default/normal", 10))
    change_all(
        batch,
        lambda row: changed(
            row,
            status=Status.PROCESSING,
            message_id=next(messages).message_id,
            receive_count=1,
            quarantine=before,
        ),
    )
    pipeline.clock.advance(3600)

    rows = batch.run()

    assert {(row.status, row.progress.attempts) for row in rows} == {(Status.COMPLETED, 1)}
    embedder = pipeline.embedders["default"]
    assert isinstance(embedder, HashedEmbedder)
    assert [len(texts) for texts in embedder.requests] == requests
    assert batch.events().count("task_suspected") == 3


@pytest.mark.parametrize("seconds", [60.0, 120.0, 900.0])
def test_crashed_run_is_noticed_thirty_seconds_after_its_end(seconds: float) -> None:
    """R31 R32 R34: in every lane; until then no other run gets its messages."""
    batch = Batch(MemoryIndex, "write", Killed())
    pipeline = batch.pipeline
    for one in batch.broken:
        one.is_broken = True
    with pytest.raises(Killed):
        pipeline.run("default/normal", seconds=seconds)

    pipeline.clock.advance(seconds + 29)
    assert pipeline.queues.receive("default/normal", 10) == []
    pipeline.clock.advance(1)

    assert len(pipeline.queues.receive("default/normal", 10)) == 3


def test_move_that_another_run_was_faster_with_comes_again() -> None:
    """R07 R31: SQS delivered one message twice, and the other run may be gone."""
    batch = Batch(MemoryStash, "write", STORE_DOWN)
    batch.run()
    pipeline = batch.pipeline
    table = pipeline.tables["articles"]
    table.delete({"id": "a"})
    pipeline.deliver_new()
    table.put({"id": "a", "body": "again"})
    read = MemorySource.read

    def overtaken(self: MemorySource, *given: Any) -> Any:
        change_all(batch, lambda row: row)
        return read(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemorySource, "read", overtaken)
        pipeline.run("default/delete")

    assert pipeline.queues.depth("default/delete") == 1


def test_move_whose_run_crashed_is_sent_by_the_sweep() -> None:
    """R07 R29: in minutes, where an open row without a message would wait for a day."""
    batch = Batch(MemoryQueues, "send", STORE_DOWN)
    batch.run(is_broken=False)
    pipeline = batch.pipeline
    table = pipeline.tables["articles"]
    table.delete({"id": "a"})
    pipeline.deliver_new()
    table.put({"id": "a", "body": "again"})
    for one in batch.broken:
        one.is_broken = True
    pipeline.run("default/delete")
    pipeline.queues.receive("default/delete", 10)

    for one in batch.broken:
        one.is_broken = False
    pipeline.clock.advance(CONFIRM_MS / 1000)
    pipeline.sweep("due")

    assert {row.status for row in batch.run(is_broken=False)} == {Status.COMPLETED}


def test_delete_of_a_document_that_exists_again_is_moved_to_be_embedded() -> None:
    """R07: as a requeue, and the delete lane embeds nothing."""
    batch = Batch(MemoryStash, "write", STORE_DOWN)
    batch.run()
    table = batch.pipeline.tables["articles"]
    table.delete({"id": "a"})
    batch.pipeline.deliver_new()
    table.put({"id": "a", "body": "again"})
    paid = batch.pipeline.telemetry.metrics["ProviderRequests"]

    batch.pipeline.run("default/delete")

    row = batch.pipeline.row("a", source="articles")
    assert row is not None
    assert (row.status, row.task.lane, row.progress.sent) == (Status.PENDING, Lane.NORMAL, True)
    assert batch.pipeline.queues.depth("default/delete") == 0
    assert batch.pipeline.telemetry.metrics["ProviderRequests"] == paid
    assert {row.status for row in batch.run()} == {Status.COMPLETED}
