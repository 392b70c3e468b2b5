"""Open documents whose messages are gone: the ledger sends their tasks again."""

import time

from functions.core.ports import Ledger, TaskQueue
from functions.sweep.requeue import Requeue
from local.memory.telemetry import MemoryTelemetry


def send_open_again(ledger: Ledger, queue: TaskQueue) -> tuple[int, int]:
    """Requeue every open row now; return how many were sent, of how many."""
    step = Requeue(ledger, queue, MemoryTelemetry(), lambda: time.time_ns() // 1_000_000)
    keys = [row.row_key for row in ledger.listed() if row.status.is_open]
    return step.requeue(keys), len(keys)
