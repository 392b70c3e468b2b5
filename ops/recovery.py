"""Documents sent again: all that are open, or one by an operator's choice."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from functions.core.batches import batches
from functions.core.lane import PRIORITIES, Lane
from functions.core.ledger_row import Group
from functions.sweep.requeue import ROUND_ROWS, Requeue
from ops.frame import DOCUMENT, SOURCE, TARGET, YES, Noun
from ops.output import Answer, CommandError, confirm, progress, say

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


@NOUN.stack_command(YES, examples=["recover", "recover --stage prod --yes"])
def recover(deployment: "Deployment", *, yes: bool = False) -> Recovered:
    """Send every open document again: for a queue that was lost or purged."""
    keys = [row.row_key for row in deployment.listed([Group.OPEN, Group.PARKED])]
    if keys:
        confirm(f"Send {len(keys)} open documents again?", yes=yes)
    step = _step(deployment)
    parts = list(batches(keys, ROUND_ROWS))
    sent = sum(step.requeue(part) for part in progress(parts, "sending"))
    return Recovered(sent=sent, open=len(keys))


@NOUN.stack_command(
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
) -> Requeued:
    """Send one document again, with its attempts counted anew, to any lane."""
    key = deployment.row_key(document, source=source, target=target)
    deployment.read_row(key)
    if not _step(deployment).push(key, Lane(lane)):
        raise CommandError(f"{key} was not sent: it has changed, or SQS refused it; try again")
    # A document of a sequential source stays in its lane.
    lane = deployment.read_row(key).task.lane
    names = (deployment.source(source).name, deployment.target(target).name)
    return Requeued(row=key, lane=lane, see=deployment.status_command(document, *names))


def _step(deployment: "Deployment") -> Requeue:
    return Requeue(
        deployment.ledger,
        deployment.tasks,
        StderrTelemetry(),
        lambda: time.time_ns() // 1_000_000,
    )
