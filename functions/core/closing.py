"""Rows that may end: announced, then written. The last event is that of the row that stands."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeVar

from functions.core.announcement import Announcements, is_announced
from functions.core.failure import FailureError
from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Ledger
from functions.core.swap import Decision, Rows, swap_until_settled

D = TypeVar("D", bound=Decision)


def close_rows(
    ledger: Ledger,
    announcements: Announcements,
    rows: Rows,
    decide: Callable[[Rows], Mapping[RowKey, D]],
    refused: Callable[[D], D],
) -> Iterator[tuple[RowKey, D, LedgerRow | None]]:
    """Write decisions as `swap_until_settled` does; `refused` replaces one without its event."""
    announced: set[RowKey] = set()

    def announce(waiting: Rows) -> dict[RowKey, D]:
        decisions = dict(decide(waiting))
        for key in announcements.refused(one.row for one in decisions.values()):
            decisions[key] = refused(decisions[key])
        announced.update(key for key, one in decisions.items() if one.row and is_announced(one.row))
        return decisions

    try:
        for key, decision, row in swap_until_settled(ledger, rows, announce):
            if decision.row is None and row is not None and key in announced:
                _announce(ledger, announcements, row)
            announced.discard(key)
            yield key, decision, row
    except FailureError:
        _correct(ledger, announcements, announced)
        raise


def announce_standing(ledger: Ledger, announcements: Announcements, row: LedgerRow) -> bool:
    """Announce a row after a false event; return False if its own event was refused.

    Then it is written as it is: a writer that announced its end before the false event, and has
    not written yet, has to decide, and to announce, again.
    """
    try:
        return _announce(ledger, announcements, row)
    except FailureError:
        _correct(ledger, announcements, [row.row_key])
        raise


def _announce(ledger: Ledger, announcements: Announcements, row: LedgerRow) -> bool:
    standing: LedgerRow | None = row
    while standing is not None:
        if announcements.refused([standing]):
            return False
        standing = ledger.write([standing]).lost.get(row.row_key)
    return True


def _correct(ledger: Ledger, announcements: Announcements, keys: Iterable[RowKey]) -> None:
    """Announce what stands in place of rows whose event was sent, and whose write failed.

    Now, not when their messages come again: another run may have acknowledged those.
    """
    with suppress(FailureError):
        for row in ledger.read(keys).values():
            if is_announced(row):
                _announce(ledger, announcements, row)
