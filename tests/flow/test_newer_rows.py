"""Stories of a deployment that was taken back: rows of newer code stand in the ledger."""

from functions.core.identity import DocumentId, row_key
from functions.core.ledger_row import Status
from local.memory.pipeline import MemoryPipeline
from tests.builders import make_pipeline, make_row
from tests.flow.stories import row, write
from tests.newer_rows import NewerRows

KEYS = {name: row_key("default", "articles", DocumentId(name)) for name in ("a", "new", "b")}


def make() -> tuple[MemoryPipeline, NewerRows]:
    ledger = NewerRows()
    return make_pipeline(ledger=ledger, source={"priority_attribute": "lane"}), ledger


def write_all(pipeline: MemoryPipeline, text: str, lane: str = "normal") -> None:
    for name in KEYS:
        write(pipeline, name, f"{text} of {name}", lane=lane)


def test_task_of_a_newer_row_waits_and_the_others_of_its_batch_do_not() -> None:
    """R35 R55: its message comes again, its row is as it was."""
    pipeline, ledger = make()
    write_all(pipeline, "text")
    pipeline.deliver_new()
    before = ledger.rows[KEYS["new"]]
    ledger.newer = {KEYS["new"]}

    pipeline.run_all()

    assert {row(pipeline, name).status for name in "ab"} == {Status.COMPLETED}
    assert ledger.rows[KEYS["new"]] == before
    ledger.newer = set()
    pipeline.drain()
    assert row(pipeline, "new").status is Status.COMPLETED


def test_shard_waits_at_the_change_of_a_newer_row() -> None:
    """R35 R55: what comes before it goes on, what comes after it is not sent at each try."""
    pipeline, ledger = make()
    write_all(pipeline, "text")
    pipeline.drain()
    before = {name: row(pipeline, name).task.version for name in KEYS}
    ledger.newer = {KEYS["new"]}
    write_all(pipeline, "another text", lane="bulk")

    for _ in range(10):
        pipeline.deliver_new()

    assert row(pipeline, "a").task.version > before["a"]
    assert {name: ledger.rows[KEYS[name]].task.version for name in ("new", "b")} == {
        name: before[name] for name in ("new", "b")
    }
    assert pipeline.queues.depth("default/bulk") == 1
    ledger.newer = set()
    pipeline.drain()
    assert {row(pipeline, name).status for name in KEYS} == {Status.COMPLETED}
    assert all(row(pipeline, name).task.version > before[name] for name in KEYS)


def test_shard_waits_at_the_insert_of_a_newer_row() -> None:
    """R35 R55: its row is not read before, so that the write finds it."""
    pipeline, ledger = make()
    newer = ledger.rows[KEYS["new"]] = make_row(document_id=DocumentId("new"))
    ledger.newer = {KEYS["new"]}
    write_all(pipeline, "text", lane="bulk")

    pipeline.deliver_new()
    [logged] = [fields for name, fields in pipeline.telemetry.events if name == "ledger_failed"]
    for _ in range(10):
        pipeline.deliver_new()

    assert pipeline.queues.depth("default/bulk") == 1
    pipeline.run_all()
    assert row(pipeline, "a").status is Status.COMPLETED
    assert ledger.rows[KEYS["new"]] == newer
    assert logged == {"failure": "store_unavailable: row of schema 9", "tasks": 1}
    ledger.newer = set()
    pipeline.drain()
    assert {row(pipeline, name).status for name in ("new", "b")} == {Status.COMPLETED}
