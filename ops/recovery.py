"""Open documents whose messages are gone: the ledger brings them back."""

import time
from typing import Any

from functions.sweep.requeue import Requeue
from ops.deployment import Deployment


class _Counted:
    """Telemetry for a command: the answer tells the number."""

    def event(self, name: str, **fields: Any) -> None:
        pass

    def count(self, metric: str, value: float = 1) -> None:
        pass

    def unexpected(self, error: Exception) -> None:
        raise error


def recover(deployment: Deployment) -> list[str]:
    """Send every open document again, now."""
    open_keys = [row.row_key for row in deployment.ledger.listed() if row.status.is_open]
    step = Requeue(
        ledger=deployment.ledger,
        queue=deployment.tasks,
        telemetry=_Counted(),
        clock=lambda: time.time_ns() // 1_000_000,
    )
    return [f"{step.requeue(open_keys)} of {len(open_keys)} open documents sent again"]
