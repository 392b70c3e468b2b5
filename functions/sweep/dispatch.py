"""Rows that may go -> lanes, in one run: the first of many goes alone."""

from collections import Counter
from collections.abc import Sequence

from functions.core.ledger_row import LedgerRow
from functions.sweep.canary import Canary
from functions.sweep.guards import Guards
from functions.sweep.holds import Hold
from functions.sweep.ports import SecondsLeft
from functions.sweep.requeue import Requeue

# More than this of one target in one run is a mass.
CANARY_ABOVE = 20


class Dispatch:
    """Counts what it sends to each target; a mass waits until one has come through."""

    def __init__(
        self, requeue: Requeue, canary: Canary, guards: Guards, seconds_left: SecondsLeft
    ) -> None:
        self._requeue = requeue
        self._canary = canary
        self._guards = guards
        self._seconds_left = seconds_left
        self._sent: Counter[str] = Counter()
        self._free: dict[str, bool] = {}  # by target: how its canary fared

    def send(self, rows: Sequence[LedgerRow]) -> None:
        """Send what may go; the rest stays as it is, for the next run."""
        by_target: dict[str, list[LedgerRow]] = {}
        for row in rows:
            by_target.setdefault(row.target, []).append(row)
        for target, mine in by_target.items():
            self._sent[target] += len(mine)
            if self._sent[target] > CANARY_ABOVE and target not in self._free:
                self._free[target] = self._prove(mine.pop(0))
            if self._free.get(target, True):
                self._requeue.send(mine)

    def _prove(self, first: LedgerRow) -> bool:
        sent = self._requeue.send([first])
        # One that lost is being sent by another sweep, with a canary of its own.
        free = bool(sent) and self._canary.comes_through(sent[0], self._seconds_left())
        if not free:
            self._guards.tell(first.target, str(first.lane), Hold.UNPROVEN)
        return free
