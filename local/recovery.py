"""Open documents whose messages are gone: the ledger sends their tasks again."""

import time

from functions.core.ledger_row import Group
from functions.core.ports import Ledger, TaskQueue
from functions.sweep.requeue import Requeue
from local.memory.runtime import MemoryTelemetry


def requeue_step(ledger: Ledger, queue: TaskQueue) -> Requeue:
    """Put the step together for a command, which tells its outcome by itself."""
    return Requeue(ledger, queue, MemoryTelemetry(), lambda: time.time_ns() // 1_000_000)


def send_open_again(ledger: Ledger, queue: TaskQueue) -> tuple[int, int]:
    """Requeue every open row now; return how many were sent, of how many."""
    step = requeue_step(ledger, queue)
    keys = [row.row_key for row in ledger.listed([Group.OPEN, Group.PARKED])]
    return step.requeue(keys), len(keys)
