"""Open documents whose messages are gone: their tasks are sent again from the ledger."""

import time

from functions.core.ledger_row import Group
from functions.core.ports import Ledger, TaskQueue
from functions.sweep.requeue import Requeue
from local.memory.runtime import MemoryTelemetry


def send_open_again(ledger: Ledger, queue: TaskQueue) -> tuple[int, int]:
    """Requeue every open row now; return how many were sent, of how many."""
    step = Requeue(ledger, queue, MemoryTelemetry(), lambda: time.time_ns() // 1_000_000)
    keys = [row.row_key for row in ledger.listed([Group.OPEN, Group.PARKED])]
    return step.requeue(keys), len(keys)
