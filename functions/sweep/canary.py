"""One of many goes first: a mass requeue into something broken would only fail as a mass."""

from collections.abc import Iterable
from dataclasses import dataclass

from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Ledger
from functions.sweep.ports import Wait

CANARY_SECONDS = 60.0
POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Canary:
    """The ledger, where a canary's fate is read."""

    ledger: Ledger
    wait: Wait

    def verdicts(self, sent: Iterable[RowKey], seconds: float) -> dict[RowKey, bool]:
        """Wait for the ends of rows that were sent; tell of each that is known if it is good.

        One that is still open after the time only waits for its turn, or is large.
        """
        open_, known = set(sent), dict[RowKey, bool]()
        for _ in range(round(seconds / POLL_SECONDS)):
            if not open_:
                break
            self.wait(POLL_SECONDS)
            rows = self.ledger.read(open_)
            for key in list(open_):
                verdict = judge(rows.get(key))
                if verdict is not None:
                    known[key] = verdict
                    open_.discard(key)
        return known


def judge(row: LedgerRow | None) -> bool | None:
    """Tell whether the way is free; None: it is not known yet."""
    if row is None:
        return True
    if row.progress.parked:
        return False
    if row.status.is_open:
        return None
    # A document that is refused for what it is has been all the way.
    return not row.status.is_failed or _is_its_own_fault(row)


def _is_its_own_fault(row: LedgerRow) -> bool:
    return bool(row.errors) and row.errors[-1].kind.is_permanent
