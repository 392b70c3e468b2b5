"""The one optimistic write: decide on rows, write, and decide again where another was faster."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Ledger, UnreadableRowsError

if TYPE_CHECKING:
    from functions.core.failure import Failure


class Decision(Protocol):
    @property
    def row(self) -> LedgerRow | None:
        """The row to write; None: nothing is written."""


D = TypeVar("D", bound=Decision)
Rows = Mapping[RowKey, LedgerRow | None]


def readable_rows(ledger: Ledger, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow | None]:
    """Return keys with their rows; those whose rows newer code wrote are left to that code."""
    wanted = list(keys)
    unreadable: Collection[RowKey] = ()
    try:
        rows = ledger.read(wanted)
    except UnreadableRowsError as error:
        rows, unreadable = error.rows, error.keys
    return {key: rows.get(key) for key in wanted if key not in unreadable}


def swap_until_settled(
    ledger: Ledger, rows: Rows, decide: Callable[[Rows], Mapping[RowKey, D]]
) -> Iterator[tuple[RowKey, D, LedgerRow | None]]:
    """Yield each decision once it is written, with the row as it stands in the ledger then.

    A row that another writer changed first is decided on again, as that writer left it. Where that
    was newer code, UnreadableRowsError is raised after all others are settled.
    """
    waiting = rows
    unreadable: dict[RowKey, Failure] = {}
    while waiting:
        decisions = decide(waiting)
        swapped = ledger.write([one.row for one in decisions.values() if one.row is not None])
        unreadable |= swapped.unreadable
        for key, decision in decisions.items():
            if key not in swapped.lost and key not in unreadable:
                yield key, decision, swapped.stored.get(key, waiting[key])
        waiting = swapped.lost
    if unreadable:
        raise UnreadableRowsError(next(iter(unreadable.values())), unreadable.keys(), {})
