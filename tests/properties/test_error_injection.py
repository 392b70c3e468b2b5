"""Every kind of failure at every call of the flow: each document ends, and nothing is lost."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from benchmarks.histories.interrupts import Killed
from functions.core.entry import Entry
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ledger_row import Status
from functions.sweep.requeue import Requeue
from local.memory.pipeline import MemoryPipeline
from local.memory.runtime import MemoryTelemetry
from tests.builders import make_source, make_target

ENDS = {
    Status.COMPLETED,
    Status.PARTIALLY_COMPLETED,
    Status.DELETED,
    Status.SKIPPED,
    Status.FAILED,
    Status.FAILED_MAX_RETRIES,
}


class Injected:
    """A box around a box: one call of them all goes wrong."""

    def __init__(self, box: Any, calls: set[str], trouble: "Trouble") -> None:
        self._box = box
        self._calls = calls
        self._trouble = trouble

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._box, name)
        if name not in self._calls:
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._trouble.at_its_time(lambda: value(*args, **kwargs))

        return call


class Trouble:
    """An error at the call of a number: before it, or after it was done."""

    def __init__(self, number: int, error: BaseException, *, after: bool) -> None:
        self._number = number
        self._error = error
        self._after = after
        self.calls = 0
        self.is_over = False

    def at_its_time(self, call: Callable[[], Any]) -> Any:
        if not self.is_over:
            self.calls += 1
        if self.is_over or self.calls != self._number:
            return call()
        if self._after:
            call()
        raise self._error


class CalmTelemetry(MemoryTelemetry):
    """Takes the unforeseen as the deployed one does: it is logged."""

    def unexpected(self, error: Exception) -> None:
        self.events.append(("unexpected_error", {"error": type(error).__name__}))


def run(trouble: Trouble) -> MemoryPipeline:
    """Write, edit and delete three documents while something goes wrong; then let all end."""
    pipeline = MemoryPipeline(
        [make_source(skip_attribute="hidden")],
        [make_target(chunk_tokens=60)],
        around=lambda box, calls: Injected(box, calls, trouble),
        telemetry=CalmTelemetry(),
    )
    table = pipeline.tables["articles"]
    for name in ("a", "b", "c"):
        table.put({"id": name, "body": f"{name} first"})
    _safely(pipeline.deliver_new)
    _safely(lambda: pipeline.run("default/normal"))
    table.put({"id": "a", "body": "a second"})
    table.delete({"id": "b"})
    table.put({"id": "c", "body": "c first", "hidden": True})
    for step in (
        pipeline.deliver_new,
        pipeline.reconcile,
        lambda: pipeline.sweep("due"),
        lambda: pipeline.sweep("maintenance"),
        pipeline.drain,
    ):
        _safely(step)
    pipeline.clock.advance(2 * 24 * 3600)
    _safely(lambda: pipeline.sweep("maintenance"))  # the tombstone is purged
    pipeline.read["articles"] = 0  # the stream comes again after a crash
    _safely(pipeline.drain)
    trouble.is_over = True
    pipeline.drain()
    return pipeline


def _safely(step: Callable[[], Any]) -> None:
    with suppress(Killed, Exception):
        step()


def searchable(pipeline: MemoryPipeline) -> dict[str, str]:
    return {
        entry.document_id: "".join(chunk.text for chunk in entry.chunks)
        for entry in pipeline.indexes["default"].entries.values()
        if isinstance(entry, Entry)
    }


ERRORS: dict[str, BaseException] = {
    "killed": Killed(),
    "out of memory": MemoryError(),
    "unforeseen": ZeroDivisionError(),
    **{str(kind): FailureError(Failure(kind, "injected")) for kind in FailureKind},
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "answer lost"])
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
def test_failure_at_any_call_ends_every_document(error: BaseException, after: bool) -> None:
    """R22 R27 R31 R81: whatever fails wherever, index = table, or the ledger knows why not."""
    no_trouble = Trouble(0, error, after=after)
    run(no_trouble)
    for number in range(1, no_trouble.calls + 1):
        pipeline = run(Trouble(number, error, after=after))

        rows = pipeline.ledger.rows.values()
        assert {row.status for row in rows} <= ENDS, number
        failed = [row for row in rows if row.status.is_failed]
        assert all(row.outcome.reason for row in failed), number
        # A person mends it, and sends again what failed.
        requeue = Requeue(pipeline.ledger, pipeline.queues, pipeline.telemetry, pipeline.clock)
        for row in failed:
            requeue.push(row.row_key, row.task.lane)
        pipeline.drain()
        pipeline.clock.advance(2 * 24 * 3600)
        pipeline.sweep("maintenance")
        assert searchable(pipeline) == {"a": "a second"}, number
        assert pipeline.row("b", source="articles") is None, number
