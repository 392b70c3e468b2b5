"""The one optimistic write."""

from dataclasses import dataclass

import pytest

from functions.core.identity import DocumentId, RowKey
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import UnreadableRowsError
from functions.core.swap import Rows, swap_until_settled
from local.memory.ledger import MemoryLedger
from tests.builders import changed, make_row
from tests.newer_rows import NewerRows
from tests.unit.embed.steps import OvertakenLedger


@dataclass(frozen=True)
class Decision:
    row: LedgerRow | None


def one_more(rows: Rows) -> dict[RowKey, Decision]:
    """Decide for one more attempt of each row that is there."""
    return {
        key: Decision(row and changed(row, attempts=row.progress.attempts + 1))
        for key, row in rows.items()
    }


def test_decision_is_written_and_yielded_as_it_stands() -> None:
    """R28: what a step builds on next is what the ledger holds."""
    ledger = MemoryLedger()
    [row] = ledger.write([make_row(revision=0)]).stored.values()

    [(key, decision, standing)] = swap_until_settled(ledger, {row.row_key: row}, one_more)

    assert decision.row == changed(row, attempts=1)
    assert standing == ledger.rows[key] == changed(row, attempts=1, revision=2)


def test_nothing_is_written_without_a_row() -> None:
    """R05: a decision may be to leave the row as it is."""
    ledger = MemoryLedger()
    [row] = ledger.write([make_row(revision=0)]).stored.values()

    settled = list(
        swap_until_settled(
            ledger, {row.row_key: row}, lambda rows: dict.fromkeys(rows, Decision(None))
        )
    )

    assert settled == [(row.row_key, Decision(None), row)]
    assert ledger.rows == {row.row_key: row}


def test_row_that_another_writer_changed_is_decided_on_again() -> None:
    """R28 R31: no write is lost, neither this one's nor the other's."""
    ledger = OvertakenLedger(lambda row: changed(row, status=Status.PROCESSING))
    row = ledger.put(make_row(revision=0, attempts=4))

    [(key, _, standing)] = swap_until_settled(ledger, {row.row_key: row}, one_more)

    assert standing == ledger.rows[key]
    assert (ledger.rows[key].status, ledger.rows[key].progress.attempts) == (Status.PROCESSING, 5)


def test_row_that_is_gone_is_decided_on_as_none() -> None:
    """R28: a row that expired meanwhile is not brought back."""
    ledger = OvertakenLedger(lambda _: None)
    row = ledger.put(make_row(revision=0))

    [(_, decision, standing)] = swap_until_settled(ledger, {row.row_key: row}, one_more)

    assert (decision.row, standing, ledger.rows) == (None, None, {})


def test_others_are_settled_before_the_one_that_was_overtaken() -> None:
    """R10: each row of a batch for itself."""
    ledger = MemoryLedger()
    rows = {}
    for name in "ab":
        [row] = ledger.write([make_row(revision=0, document_id=DocumentId(name))]).stored.values()
        rows[row.row_key] = row
    [first, second] = rows
    ledger.write([rows[first]])

    settled = [key for key, _, _ in swap_until_settled(ledger, rows, one_more)]

    assert settled == [second, first]


def test_row_of_newer_code_is_told_after_the_others_are_settled() -> None:
    """R28 R35 R55: whatever became of it, the others have their rows."""
    ledger = NewerRows()
    rows: dict[RowKey, LedgerRow] = {}
    for name in "abc":
        [row] = ledger.write([make_row(revision=0, document_id=DocumentId(name))]).stored.values()
        rows[row.row_key] = row
    one, *others = rows
    ledger.newer = {one}
    settled: list[RowKey] = []

    with pytest.raises(UnreadableRowsError) as caught:
        settled.extend(key for key, _, _ in swap_until_settled(ledger, rows, one_more))

    assert settled == others
    assert list(caught.value.keys) == [one]
