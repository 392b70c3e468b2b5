"""Documents sent again: all that are open, or one by an operator's choice."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from functions.core.batches import batches
from functions.core.lane import PRIORITIES, Lane
from functions.core.ledger_row import Group, LedgerRow
from functions.sweep.requeue import ROUND_ROWS, Requeue
from ops.document_rows import read_row
from ops.frame import DOCUMENT, SOURCE, TARGET, Noun
from ops.output import Answer, CommandError, progress, say
from ops.proposal import Proposal

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


class StderrTelemetry:
    """Logs each step as a line on stderr; metrics are those of the functions only."""

    def event(self, name: str, **fields: Any) -> None:
        say(" ".join([name, *(f"{key}={value}" for key, value in fields.items())]))

    def count(self, metric: str, value: float = 1) -> None:
        del metric, value

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
