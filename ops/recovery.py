"""Documents sent again: all that are open, or one by an operator's choice."""

import time
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from functions.core.batches import batches
from functions.core.lane import PRIORITIES, Lane
from functions.core.ledger_row import Group, LedgerRow
from functions.core.transitions import schedule
from functions.sweep.requeue import ROUND_ROWS, Requeue
from ops.document_rows import read_row
from ops.frame import DOCUMENT, SOURCE, TARGET, Noun
from ops.output import Answer, CommandError, UsageError, progress, say, written
from ops.proposal import Proposal
from ops.selection import OPTIONS, Moment, Selection

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("Documents")


class Recovered(Answer):
    """How many open documents were sent again."""

    sent: int
    open: int

    def view(self) -> Iterable[str]:
        return [f"{self.sent} of {self.open} open documents sent again"]


class Requeued(Answer):
    """A document that was sent again."""

    row: str
    lane: str
    see: str

    def view(self) -> Iterable[str]:
        return [f"{self.row} sent to lane {self.lane}: see `{self.see}`"]


class Scheduled(Answer):
    """Documents that are sent at a time."""

    at: datetime
    scheduled: int
    chosen: int

    def view(self) -> Iterable[str]:
        return [
            f"{self.scheduled} of {self.chosen} documents are sent again at {written(self.at)},"
            " with all their attempts"
        ]


class StderrTelemetry:
    """Logs each step as a line on stderr; metrics and traces are those of the functions only."""

    def event(self, name: str, **fields: Any) -> None:
        known = (f"{key}={value}" for key, value in fields.items() if key != "trace_id")
        say(" ".join([name, *known]))

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        del metric, value, dimensions

    def unexpected(self, error: Exception) -> None:
        """Raise: a command ends with an error that it does not know."""
        raise error


@NOUN.change_command(asks=True, examples=["recover", "recover --stage prod --yes"])
def recover(deployment: "Deployment") -> Proposal[Recovered]:
    """Send every open document again: for a queue that was lost or purged."""
    keys = [row.row_key for row in deployment.listed([Group.OPEN, Group.PARKED])]
    doing = f"send {len(keys)} open documents again"

    def act() -> Recovered:
        step = requeue_step(deployment)
        parts = list(batches(keys, ROUND_ROWS))
        sent = sum(step.requeue(part) for part in progress(parts, "sending"))
        return Recovered(sent=sent, open=len(keys))

    return Proposal(doing, len(keys), act, (f"{doing.capitalize()}?",) if keys else ())


@NOUN.change_command(
    DOCUMENT,
    click.Option(
        ["--lane"],
        type=click.Choice([str(lane) for lane in PRIORITIES]),
        default=str(Lane.NORMAL),
        show_default=True,
        help="Its lane, which is its priority.",
    ),
    SOURCE,
    TARGET,
    examples=["requeue tortoise-and-hare --lane high"],
)
def requeue(
    deployment: "Deployment",
    document: str,
    *,
    lane: str = Lane.NORMAL,
    source: str | None = None,
    target: str | None = None,
) -> Proposal[Requeued]:
    """Send one document again, with its attempts counted anew, to any lane."""
    row = read_row(deployment, document, source=source, target=target)
    doing = f"send {row.row_key} to lane {lane}"
    return Proposal(doing, 1, lambda: _requeue(deployment, row, Lane(lane)))


@NOUN.change_command(
    *OPTIONS,
    click.Option(
        ["--at"],
        type=Moment(is_ahead=True),
        required=True,
        metavar="TIME",
        help="When: 2h, or 2026-01-31T06:00 (UTC). The sweep sends them within a minute of it.",
    ),
    asks=True,
    examples=[
        "retry tortoise-and-hare --at 2h",
        "retry --cause provider_error --at 2026-01-31T06:00 --stage prod",
    ],
)
def retry(deployment: "Deployment", *, at: datetime, **chosen: Any) -> Proposal[Scheduled]:
    """Send failed and incomplete documents again at a time."""
    at_ms = round(at.timestamp() * 1000)
    if at_ms < time.time_ns() // 1_000_000 - 1000:
        raise UsageError(f"--at {written(at)} is over: name a time that comes")
    rows = Selection(**chosen).rows(deployment)
    doing = f"send {len(rows)} failed or incomplete documents again at {written(at)}"

    def act() -> Scheduled:
        stored = [
            deployment.ledger.write([schedule(row, at_ms=at_ms) for row in part]).stored
            for part in progress(list(batches(rows, ROUND_ROWS)), "scheduling")
        ]
        return Scheduled(at=at, scheduled=sum(map(len, stored)), chosen=len(rows))

    question = f"{doing[:1].upper()}{doing[1:]}?"
    return Proposal(doing, len(rows), act, (question,) if len(rows) > 1 else ())


def _requeue(deployment: "Deployment", row: LedgerRow, lane: Lane) -> Requeued:
    sent = requeue_step(deployment).start_over([row], lane)
    if not sent:
        raise CommandError(f"{row.row_key} was not sent: it has changed, or SQS refused it")
    task = sent[0].task
    see = deployment.status_command(task.document_id, task.source, task.target)
    # A document of a sequential source stays in its lane.
    return Requeued(row=row.row_key, lane=task.lane, see=see)


def requeue_step(deployment: "Deployment") -> Requeue:
    return Requeue(
        deployment.ledger,
        deployment.tasks,
        StderrTelemetry(),
        lambda: time.time_ns() // 1_000_000,
    )
