"""The ledger without the rows of newer code: they wait for it, and hold no other row back."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from functions.core.failure import FailureError
from functions.core.identity import RowKey
from functions.core.ledger_row import Group, LedgerRow
from functions.core.ports import (
    START,
    Cursor,
    Ledger,
    Listed,
    Swapped,
    Telemetry,
    UnreadableRowsError,
)


@dataclass(frozen=True)
class ReadableLedger:
    """A ledger that leaves out what it cannot read, and says so."""

    ledger: Ledger
    telemetry: Telemetry

    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        try:
            return self.ledger.read(keys)
        except UnreadableRowsError as error:
            self.telemetry.event("ledger_failed", failure=str(error), tasks=len(error.keys))
            return error.rows

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        swapped = self.ledger.write(rows)
        for failure in swapped.unreadable.values():
            self.telemetry.event("ledger_failed", failure=str(FailureError(failure)), tasks=1)
        return swapped

    def remove(self, row: LedgerRow) -> bool:
        return self.ledger.remove(row)

    def listed(
        self, groups: Sequence[Group], *, due_ms: int | None = None, start: Cursor = START
    ) -> Iterator[Listed]:
        return self.ledger.listed(groups, due_ms=due_ms, start=start)
