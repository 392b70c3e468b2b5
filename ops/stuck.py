"""Documents that should have come further by now, oldest first."""

import time

from functions.core.ledger_row import Group, LedgerRow
from ops.deployment import Deployment
from ops.documents import moment

SHOWN = 20


def stuck(deployment: Deployment, *, hours: float) -> list[str]:
    """List open documents that nothing has happened to for so many hours."""
    limit_ms = time.time_ns() // 1_000_000 - round(hours * 3_600_000)
    found = sorted(
        deployment.ledger.listed([Group.OPEN, Group.PARKED], due_ms=limit_ms),
        key=lambda listed: listed.due_ms,
    )
    rows = deployment.ledger.read(listed.row_key for listed in found[:SHOWN])
    lines = [f"{len(found)} documents wait for more than {hours:g} hours"]
    for listed in found[:SHOWN]:
        # The index is behind its rows: one may have been closed since.
        if row := rows.get(listed.row_key):
            lines += _describe(row, listed.due_ms)
    if len(found) > SHOWN:
        lines.append(f"  and {len(found) - SHOWN} more")
    return lines


def _describe(row: LedgerRow, since_ms: int) -> list[str]:
    state = "parked" if row.progress.parked else str(row.status)
    error = row.errors[-1] if row.errors else None
    why = f"{error.kind}: {error.message}" if error else "no error is known"
    return [
        f"  {row.row_key}: {state} in lane {row.task.lane} since {moment(since_ms)},"
        f" {row.progress.attempts} attempts",
        f"      {why}",
    ]
