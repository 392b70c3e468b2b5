"""Rows that may end: announced, then written. The last event is that of the row that stands."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeVar

from functions.core.announcement import Announcements, is_announced
from functions.core.failure import FailureError
from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Ledger, UnreadableRowsError
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
    announced: dict[RowKey, LedgerRow] = {}

    def announce(waiting: Rows) -> dict[RowKey, D]:
        decisions = dict(decide(waiting))
        for key in announcements.refused(one.row for one in decisions.values()):
            decisions[key] = refused(decisions[key])
        announced.update(
            (key, one.row) for key, one in decisions.items() if one.row and is_announced(one.row)
        )
        return decisions

    try:
        for key, decided, row in swap_until_settled(ledger, rows, announce):
            # Announced by a decision that lost its write; the last decision was to write nothing.
            is_false = announced.pop(key, None) is not None and decided.row is None
            if is_false and row is not None and not announce_standing(ledger, announcements, row):
                decided = refused(decided)
            yield key, decided, row
    except FailureError:
        _correct(ledger, announcements, announced)
        raise


def announce_standing(ledger: Ledger, announcements: Announcements, row: LedgerRow) -> bool:
    """Announce a row as it stands, after a false event; return False if its event was not sent.

    It is then written unchanged, which raises its revision: a writer that announced its end before
    the false event, and has not written yet, has to decide, and to announce, again.
    """
    try:
        return not _announce(ledger, announcements, [row])
    except FailureError:
        _correct(ledger, announcements, {row.row_key: row})
        return False


def _announce(
    ledger: Ledger, announcements: Announcements, rows: Iterable[LedgerRow]
) -> set[RowKey]:
    """Announce rows as they stand, and write them as they are; return those without an event."""
    missing: set[RowKey] = set()
    waiting = list(rows)
    while waiting:
        refused = announcements.refused(waiting)
        swapped = ledger.write([row for row in waiting if row.row_key not in refused])
        missing |= refused | swapped.unreadable.keys()
        waiting = [row for row in swapped.lost.values() if row is not None]
    return missing


def _correct(
    ledger: Ledger, announcements: Announcements, announced: Mapping[RowKey, LedgerRow]
) -> None:
    """Announce what stands in place of rows whose event was sent, and whose write failed.

    Now, not when their messages come again: another run may have acknowledged those.
    """
    with suppress(FailureError):
        try:
            standing = ledger.read(announced)
        except UnreadableRowsError as error:
            standing = error.rows
        wrong = [row for key, row in standing.items() if not _was_written(announced[key], row)]
        _announce(ledger, announcements, wrong)


def _was_written(wanted: LedgerRow, standing: LedgerRow) -> bool:
    """Tell whether a row got through although others of its write failed."""
    written = (wanted.revision + 1, wanted.status, wanted.task.version)
    return written == (standing.revision, standing.status, standing.task.version)
