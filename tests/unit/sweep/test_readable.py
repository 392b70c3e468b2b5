"""Rows of newer code, after a deployment was taken back: the sweep leaves them alone."""

from collections.abc import Iterable

import pytest

from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow, Status
from local.memory.ledger import MemoryLedger
from tests.newer_rows import NewerRows
from tests.unit.sweep.world import DAY_MS, World


@pytest.mark.parametrize("job", ["due", "maintenance"])
def test_row_of_newer_code_holds_no_other_back(job: str) -> None:
    """R29 R35 R55: the others of its round are sent, it stays as it is, and the log says so."""
    ledger = NewerRows()
    world = World(ledger=ledger)
    if job == "due":
        newer, other = world.park("a"), world.park("b")
    else:
        newer, other = (world.put(name, queued_ms=world.clock() - DAY_MS) for name in "ab")

    ledger.newer = {newer.row_key}

    world.run(job)

    assert ledger.rows[newer.row_key] == newer
    assert world.row(other).task.version > other.task.version
    [logged, *_] = [fields for name, fields in world.telemetry.events if name == "ledger_failed"]
    assert logged == {"failure": "store_unavailable: row of schema 9", "tasks": 1}


class WrittenMeanwhile(NewerRows):
    """Newer code writes the rows after they were read."""

    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        return MemoryLedger.read(self, keys)


def test_row_that_newer_code_wrote_meanwhile_is_not_stuck() -> None:
    """R29 R35 R55: the others that have no attempts left are closed."""
    ledger = WrittenMeanwhile()
    world = World(ledger=ledger)
    newer, other = (world.put(n, queued_ms=world.clock() - DAY_MS, attempts=5) for n in "ab")
    ledger.newer = {newer.row_key}

    world.run("maintenance")

    assert world.row(newer) == newer
    assert world.row(other).status is Status.FAILED_MAX_RETRIES
    assert world.telemetry.metrics["TasksExhausted"] == 1
