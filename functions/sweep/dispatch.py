"""Rows that may go -> lanes, in one run. Of many the first twenty go alone, as canaries: a mass
that is sent into something broken would only fail as a mass."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from functions.core.failure import FailureKind
from functions.core.identity import RowKey
from functions.core.ledger_row import LedgerRow
from functions.sweep.gate import Gate
from functions.sweep.holds import Hold
from functions.sweep.ports import SecondsLeft, Wait
from functions.sweep.requeue import Requeue

# More than this of one lane in one run is a mass, and so many of it go first. As each run sends
# them anyway, documents that always fail hold the others back for some runs, and not for days.
CANARIES = 20
# For all canaries of a run together.
CANARY_SECONDS = 60.0
POLL_SECONDS = 2.0

# A queue, by the target's name and its own.
Queue = tuple[str, str]


class Dispatch:
    """Counts what it sends to each lane; a mass waits for the verdict on its canaries."""

    def __init__(self, requeue: Requeue, gate: Gate, wait: Wait, seconds_left: SecondsLeft) -> None:
        self._requeue = requeue
        self._gate = gate
        self._wait = wait
        self._seconds_left = seconds_left
        self._sent: Counter[Queue] = Counter()
        self._is_free: dict[Queue, bool] = {}  # the verdict on the canaries of a lane
        self._canary_seconds = CANARY_SECONDS  # that are left

    def send(self, rows: Sequence[LedgerRow]) -> None:
        """Send what may go; the other rows stay as they are, for the next run."""
        by_queue: dict[Queue, list[LedgerRow]] = {}
        for row in rows:
            by_queue.setdefault((row.task.target, row.task.queue), []).append(row)
        self._sent.update({queue: len(its_rows) for queue, its_rows in by_queue.items()})
        masses = [q for q in by_queue if self._sent[q] > CANARIES and q not in self._is_free]
        self._send({queue: by_queue[queue] for queue in by_queue if queue not in masses})
        self._send_canaries({queue: by_queue[queue][:CANARIES] for queue in masses})
        self._send({queue: by_queue[queue][CANARIES:] for queue in masses})

    def _send(self, by_queue: Mapping[Queue, Sequence[LedgerRow]]) -> None:
        for queue, rows in by_queue.items():
            if self._is_free.get(queue, True):
                self._requeue.send(rows)

    def _send_canaries(self, firsts: Mapping[Queue, Sequence[LedgerRow]]) -> None:
        # One that was not sent proves as little as one that is still open: a newer change,
        # or another sweep with canaries of its own, was faster.
        sent = {
            queue: {row.row_key for row in self._requeue.send(rows)}
            for queue, rows in firsts.items()
        }
        for queue, verdicts in self._verdicts(sent).items():
            self._is_free[queue] = True in verdicts or False not in verdicts
            if not self._is_free[queue]:
                self._gate.log(*queue, Hold.UNPROVEN)

    def _verdicts(self, sent: Mapping[Queue, Collection[RowKey]]) -> dict[Queue, list[bool | None]]:
        """Wait until one canary of each lane came through, or all have ended.

        One that is still open after the time only waits for its turn, or is large.
        """
        started_ms = self._requeue.clock()
        known: dict[Queue, list[bool | None]] = {queue: [] for queue in sent}
        waiting = {queue: set(keys) for queue, keys in sent.items()}
        for _ in range(round(min(self._canary_seconds, self._seconds_left()) / POLL_SECONDS)):
            asked = {q: keys for q, keys in waiting.items() if keys and True not in known[q]}
            if not asked:
                break
            self._wait(POLL_SECONDS)
            for queue, keys in asked.items():
                rows = self._requeue.ledger.read(keys)
                ended = {key for key in keys if has_ended(rows.get(key))}
                known[queue] += [judge(rows.get(key)) for key in ended]
                waiting[queue] = keys - ended
        self._canary_seconds -= (self._requeue.clock() - started_ms) / 1000
        return known


def has_ended(row: LedgerRow | None) -> bool:
    """Tell whether a canary is under way no more."""
    return row is None or row.progress.parked or not row.status.is_open


def judge(row: LedgerRow | None) -> bool | None:
    """Tell whether a canary that has ended came through; None: it says nothing about the lane."""
    if row is None:
        return True
    last = row.errors[-1].kind if row.errors else None
    if row.progress.parked:
        # What its tenant may spend is used up: others may pass.
        return None if last is FailureKind.TENANT_BUDGET else False
    # A document that is rejected for its content has been all the way.
    is_rejected = last is not None and last.is_permanent
    return not row.status.is_failed or is_rejected
