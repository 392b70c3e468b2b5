"""Documents without progress, oldest first."""

import time
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from functions.core.ledger_row import Group, LedgerRow
from functions.core.listing import still_due
from ops.frame import Noun
from ops.numbers import Amount
from ops.output import Answer, UsageError, moment, table, written

if TYPE_CHECKING:
    from ops.deployment import Deployment

SHOWN = 20
MOST_HOURS = 100_000
NOUN = Noun("State")


class StuckDocument(Answer):
    """An open document without progress."""

    row: str
    state: str
    lane: str
    since: datetime
    attempts: int
    error: str


class Stuck(Answer):
    """How many documents are stuck, and the oldest of them."""

    hours: float
    number: int
    oldest: tuple[StuckDocument, ...]

    def view(self) -> Iterable[Any]:
        yield f"{self.number} documents wait for more than {self.hours:g} hours"
        if self.oldest:
            rows = [
                (one.row, one.state, one.lane, written(one.since), one.attempts, one.error)
                for one in self.oldest
            ]
            yield table(["document", "state", "lane", "since", "attempts", "last error"], rows)
        if self.number > SHOWN:
            yield f"and {self.number - SHOWN} more"


@NOUN.stack_command(
    click.Option(
        ["--hours"],
        type=Amount(min=0),
        default=24.0,
        show_default=True,
        help="Without progress for so long at least.",
    ),
    examples=["stuck", "stuck --hours 1 --stage prod"],
)
def stuck(deployment: "Deployment", *, hours: float = 24.0) -> Stuck:
    """List open documents without progress, oldest first."""
    # Also refuses `nan`, which is in every range.
    if not hours <= MOST_HOURS:
        raise UsageError(f"--hours is at most {MOST_HOURS}, not {hours:g}")
    limit_ms = time.time_ns() // 1_000_000 - round(hours * 3_600_000)
    listed = deployment.listed([Group.OPEN, Group.PARKED], due_ms=limit_ms)
    oldest = sorted(listed, key=lambda one: one.due_ms)
    found = sorted(
        still_due(deployment.ledger, oldest, due_ms=limit_ms), key=lambda one: one.due_ms
    )
    rows = deployment.ledger.read(one.row_key for one in found[:SHOWN])
    return Stuck(
        hours=hours,
        number=len(found),
        # The index is behind its rows: one may have been closed since.
        oldest=tuple(
            _describe(rows[one.row_key], one.due_ms) for one in found[:SHOWN] if one.row_key in rows
        ),
    )


def _describe(row: LedgerRow, since_ms: int) -> StuckDocument:
    error = row.errors[-1] if row.errors else None
    return StuckDocument(
        row=row.row_key,
        state="parked" if row.progress.parked else str(row.status),
        lane=row.task.lane,
        since=moment(since_ms),
        attempts=row.progress.attempts,
        error=f"{error.kind}: {error.message}" if error else "no error is known",
    )
