"""Rows that may go -> lanes, in one run: the first of many goes alone."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.sweep.canary import CANARY_SECONDS, Canary
from functions.sweep.guards import Guards
from functions.sweep.holds import Hold
from functions.sweep.ports import SecondsLeft
from functions.sweep.requeue import Requeue

# More than this of one lane in one run is a mass.
CANARY_ABOVE = 20

# A queue, by the target's name and its own.
Queue = tuple[str, str]


class Dispatch:
    """Counts what it sends to each lane; a mass waits until it is known how one fared."""

    def __init__(
        self, requeue: Requeue, canary: Canary, guards: Guards, seconds_left: SecondsLeft
    ) -> None:
        self._requeue = requeue
        self._canary = canary
        self._guards = guards
        self._seconds_left = seconds_left
        self._sent: Counter[Queue] = Counter()
        self._free: dict[Queue, bool] = {}  # how the canary of a lane fared
        self._patience = CANARY_SECONDS  # for all canaries of a run: the others have to be sent

    def send(self, rows: Sequence[LedgerRow]) -> None:
        """Send what may go; the rest stays as it is, for the next run."""
        by_queue: dict[Queue, list[LedgerRow]] = {}
        for row in rows:
            by_queue.setdefault((row.task.target, row.task.queue), []).append(row)
        self._sent.update({queue: len(mine) for queue, mine in by_queue.items()})
        masses = [q for q in by_queue if self._sent[q] > CANARY_ABOVE and q not in self._free]
        self._send({queue: mine for queue, mine in by_queue.items() if queue not in masses})
        self._prove({queue: by_queue[queue].pop(0) for queue in masses})
        self._send({queue: by_queue[queue] for queue in masses})

    def _send(self, by_queue: Mapping[Queue, Sequence[LedgerRow]]) -> None:
        for queue, mine in by_queue.items():
            if self._free.get(queue, True):
                self._requeue.send(mine)

    def _prove(self, firsts: Mapping[Queue, LedgerRow]) -> None:
        sent = {row.row_key for row in self._requeue.send(list(firsts.values()))}
        verdicts = self._wait(sent)
        for queue, first in firsts.items():
            # One that was not sent proves as little as one that is not through: a newer change,
            # or another sweep with a canary of its own, was faster.
            self._free[queue] = verdicts.get(first.row_key, True)
            if not self._free[queue]:
                self._guards.tell(*queue, Hold.UNPROVEN)

    def _wait(self, sent: Collection[RowKey]) -> dict[RowKey, bool]:
        started_ms = self._requeue.clock()
        verdicts = self._canary.verdicts(sent, min(self._patience, self._seconds_left()))
        self._patience -= (self._requeue.clock() - started_ms) / 1000
        return verdicts
