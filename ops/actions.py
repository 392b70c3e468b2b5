"""What people did to a stack with these commands."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from ops.frame import Noun
from ops.numbers import Count
from ops.output import Answer, moment, say, table, written

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("State")


class PastAction(Answer):
    """One command that changed something."""

    at: datetime
    who: str
    command: str
    what: str
    documents: int
    reason: str
    result: str


class Actions(Answer):
    """The latest actions, the newest first."""

    actions: tuple[PastAction, ...]

    def view(self) -> Iterable[Any]:
        if not self.actions:
            return ["nobody has changed anything with a command in the last 90 days"]
        rows = [
            (written(one.at), one.who, one.command, one.reason or "-", one.result)
            for one in self.actions
        ]
        return [table(["time", "who", "command", "reason", "result"], rows)]


@NOUN.stack_command(
    click.Option(
        ["--most"],
        type=Count(min=1),
        default=20,
        show_default=True,
        help="How many at most.",
    ),
    examples=["actions", "actions --most 100 --stage prod --json"],
)
def actions(deployment: "Deployment", *, most: int = 20) -> Actions:
    """Show who changed what with a command, when, why and with what result."""
    from ops.action_log import ActionLog

    return Actions(
        actions=tuple(
            PastAction(
                at=moment(one.at_ms),
                who=one.who,
                command=one.command,
                what=one.what,
                documents=one.documents,
                reason=one.reason,
                result=one.result,
            )
            for one in ActionLog(deployment, say).newest(most)
        )
    )
