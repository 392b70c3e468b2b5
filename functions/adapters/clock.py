"""The clock of this machine, as the steps read it."""

import time


def now_ms() -> int:
    """Return the milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
