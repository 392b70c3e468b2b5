"""A ledger with rows that older code cannot read, as after a deployment was taken back."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from functions.core.failure import Failure, FailureKind
from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Swapped, UnreadableRowsError
from local.memory.ledger import MemoryLedger

NEWER = Failure(FailureKind.STORE_UNAVAILABLE, "row of schema 9")


class NewerRows(MemoryLedger):
    """Neither reads nor writes the rows that are named in `newer`."""

    def __init__(self) -> None:
        super().__init__()
        self.newer: set[RowKey] = set()

    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        rows = super().read(keys)
        newer = rows.keys() & self.newer
        if newer:
            others = {key: one for key, one in rows.items() if key not in newer}
            raise UnreadableRowsError(NEWER, newer, others)
        return rows

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        newer = {one.row_key for one in rows} & self.newer
        swapped = super().write([one for one in rows if one.row_key not in newer])
        return replace(swapped, unreadable=dict.fromkeys(newer, NEWER))
