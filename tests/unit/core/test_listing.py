"""The sparse index and its rows: which of what it lists is still due."""

from functions.core.identity import DocumentId
from functions.core.ledger_row import Group, Status
from functions.core.listing import still_due
from local.memory.ledger import MemoryLedger
from tests.builders import NOW_MS, make_row


def test_rows_beyond_those_that_are_read_count_as_listed() -> None:
    """R29: a million rows are not read to find the few that are in work."""
    ledger = MemoryLedger()
    ledger.write(
        [
            make_row(
                document_id=DocumentId(name),
                queued_ms=NOW_MS - age,
                status=Status.PROCESSING,
                last_attempt_ms=NOW_MS,
                revision=0,
            )
            for age, name in enumerate("abc")
        ]
    )
    listed = ledger.listed([Group.OPEN])

    found = still_due(ledger, listed, due_ms=NOW_MS - 1, most=2)

    assert [one.document for one in found] == ["a"]


def test_row_that_is_due_is_told_as_it_stands() -> None:
    """R29: the sparse index says pending, and when it was queued."""
    ledger = MemoryLedger()
    at_ms = NOW_MS - 5
    row = make_row(
        queued_ms=NOW_MS - 9, status=Status.PROCESSING, last_attempt_ms=at_ms, revision=0
    )
    ledger.write([row])

    [found] = still_due(ledger, ledger.listed([Group.OPEN]), due_ms=NOW_MS)

    assert (found.status, found.due_ms) == (Status.PROCESSING, at_ms)


def test_row_that_is_gone_is_not_due() -> None:
    """R29: the index is a moment behind its rows."""
    ledger = MemoryLedger()
    ledger.write([make_row(revision=0)])
    listed = list(ledger.listed([Group.OPEN]))
    ledger.rows.clear()

    assert list(still_due(ledger, listed, due_ms=NOW_MS)) == []
