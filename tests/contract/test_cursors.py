"""The cursors: each job finds where it was cut off; the ledger never lists them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from functions.adapters.dynamodb_cursors import DynamoDbCursors
from functions.core.ledger_row import Group
from functions.core.ports import START, Cursor, Ledger
from functions.sweep.ports import Cursors
from local.memory.ledger import MemoryCursors, MemoryLedger
from tests.contract.engines import real
from tests.contract.ledger_engines import ledger_table


@dataclass(frozen=True)
class Engine:
    cursors: Cursors
    ledger: Ledger


@pytest.fixture(params=["memory", "moto", real("dynamodb")])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "memory":
        yield Engine(MemoryCursors(), MemoryLedger())
        return
    with ledger_table(request, request.param) as table:
        yield Engine(DynamoDbCursors(table.client, table.name), table.ledger)


def test_job_begins_where_it_was_cut_off(engine: Engine) -> None:
    """R29: each job for itself, at the start before it was ever cut off."""
    engine.cursors.write("due", Cursor("7"))
    engine.cursors.write("due", Cursor("31"))
    engine.cursors.write("stuck", Cursor("2"))

    assert [engine.cursors.read(job) for job in ("due", "stuck", "purge")] == ["31", "2", START]
    assert list(engine.ledger.listed(list(Group))) == []
