"""One of many goes first: a mass requeue into something broken would only fail as a mass."""

from dataclasses import dataclass

from functions.core.failure import FailureKind
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

    def comes_through(self, sent: LedgerRow, seconds: float) -> bool:
        """Wait for the end of a row that was sent; tell whether it was a good one."""
        for _ in range(max(1, round(min(seconds, CANARY_SECONDS) / POLL_SECONDS))):
            self.wait(POLL_SECONDS)
            verdict = judge(self.ledger.read([sent.row_key]).get(sent.row_key))
            if verdict is not None:
                return verdict
        return False


def judge(row: LedgerRow | None) -> bool | None:
    """Tell whether the way is free; None: it is not known yet."""
    if row is None:
        return True
    if row.parked:
        return False
    if row.status.is_open:
        return None
    # A document that is refused for what it is has been all the way.
    return not row.status.is_failed or _is_its_own_fault(row)


def _is_its_own_fault(row: LedgerRow) -> bool:
    return bool(row.errors) and FailureKind(row.errors[-1].kind).is_permanent
