"""Rows that may end: announced, then written. The last event is that of the row that stands."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from functions.core.announcement import Announcements, is_announced
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

    for key, decision, row in swap_until_settled(ledger, rows, announce):
        if decision.row is None and row is not None and key in announced:
            announce_standing(ledger, announcements, row)
        yield key, decision, row


def announce_standing(ledger: Ledger, announcements: Announcements, row: LedgerRow) -> bool:
    """Announce a row after a false event; return False if its own event was refused.

    Then it is written as it is: a writer that announced its end before the false event, and has
    not written yet, has to decide, and to announce, again.
    """
    standing: LedgerRow | None = row
    while standing is not None:
        if announcements.refused([standing]):
            return False
        standing = ledger.write([standing]).lost.get(row.row_key)
    return True
