"""Rows that may go -> lanes, in one run. Of many the first goes alone, as a canary: a mass that
is sent into something broken would only fail as a mass."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.sweep.gate import Gate
from functions.sweep.holds import Hold
from functions.sweep.ports import SecondsLeft, Wait
from functions.sweep.requeue import Requeue

# More than this of one lane in one run is a mass.
CANARY_ABOVE = 20
# For all canaries of a run together.
CANARY_SECONDS = 60.0
POLL_SECONDS = 2.0

# A queue, by the target's name and its own.
Queue = tuple[str, str]


class Dispatch:
    """Counts what it sends to each lane; a mass waits for the verdict on its canary."""

    def __init__(self, requeue: Requeue, gate: Gate, wait: Wait, seconds_left: SecondsLeft) -> None:
        self._requeue = requeue
        self._gate = gate
        self._wait = wait
        self._seconds_left = seconds_left
        self._sent: Counter[Queue] = Counter()
        self._is_free: dict[Queue, bool] = {}  # the verdict on the canary of a lane
        self._canary_seconds = CANARY_SECONDS  # that are left

    def send(self, rows: Sequence[LedgerRow]) -> None:
        """Send what may go; the other rows stay as they are, for the next run."""
        by_queue: dict[Queue, list[LedgerRow]] = {}
        for row in rows:
            by_queue.setdefault((row.task.target, row.task.queue), []).append(row)
        self._sent.update({queue: len(mine) for queue, mine in by_queue.items()})
        masses = [q for q in by_queue if self._sent[q] > CANARY_ABOVE and q not in self._is_free]
        self._send({queue: mine for queue, mine in by_queue.items() if queue not in masses})
        self._send_canaries({queue: by_queue[queue].pop(0) for queue in masses})
        self._send({queue: by_queue[queue] for queue in masses})

    def _send(self, by_queue: Mapping[Queue, Sequence[LedgerRow]]) -> None:
        for queue, mine in by_queue.items():
            if self._is_free.get(queue, True):
                self._requeue.send(mine)

    def _send_canaries(self, firsts: Mapping[Queue, LedgerRow]) -> None:
        sent = {row.row_key for row in self._requeue.send(list(firsts.values()))}
        verdicts = self._verdicts(sent)
        for queue, first in firsts.items():
            # One that was not sent proves as little as one that is still open: a newer change,
            # or another sweep with a canary of its own, was faster.
            self._is_free[queue] = verdicts.get(first.row_key, True)
            if not self._is_free[queue]:
                self._gate.log(*queue, Hold.UNPROVEN)

    def _verdicts(self, sent: Collection[RowKey]) -> dict[RowKey, bool]:
        """Wait for the ends of rows that were sent; return the verdicts that are known.

        One that is still open after the time only waits for its turn, or is large.
        """
        started_ms = self._requeue.clock()
        waiting, known = set(sent), dict[RowKey, bool]()
        for _ in range(round(min(self._canary_seconds, self._seconds_left()) / POLL_SECONDS)):
            if not waiting:
                break
            self._wait(POLL_SECONDS)
            rows = self._requeue.ledger.read(waiting)
            judged = {key: judge(rows.get(key)) for key in waiting}
            known |= {key: verdict for key, verdict in judged.items() if verdict is not None}
            waiting -= known.keys()
        self._canary_seconds -= (self._requeue.clock() - started_ms) / 1000
        return known


def judge(row: LedgerRow | None) -> bool | None:
    """Tell whether a canary came through; None: it is not known yet."""
    if row is None:
        return True
    if row.progress.parked:
        return False
    if row.status.is_open:
        return None
    # A document that is rejected for its content has been all the way.
    is_rejected = bool(row.errors) and row.errors[-1].kind.is_permanent
    return not row.status.is_failed or is_rejected
