"""Changes from the console: each is a command, counted first and confirmed with a reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from starlette.datastructures import QueryParams

from ops.console.asking import arguments, command, values
from ops.output import UsageError
from ops.proposal import Proposal

if TYPE_CHECKING:
    from ops.deployment import Deployment

# What the page can do, what its button says, and which options a person may still set there.
OFFERED: dict[str, tuple[str, tuple[str, ...]]] = {
    "dead redrive": ("Redrive the dead letters", ("rate",)),
    "dead requeue": ("Send failed documents again", ("lane", "rate")),
    "dead stop": ("Stop the redrive", ()),
    "requeue": ("Send this document again", ("lane",)),
    "embed": ("Embed this document now", ()),
    "pause": ("Pause", ()),
    "resume": ("Resume", ()),
    "backfill": ("Start a backfill", ("source", "target", "only")),
    "jobs pause": ("Pause the backfill", ()),
    "jobs resume": ("Resume the backfill", ()),
    "jobs cancel": ("Cancel the backfill", ()),
    "migrate start": ("Fill the new target", ()),
    "migrate switch": ("Let the new target answer", ("least_coverage", "most_loss", "questions")),
    "migrate rollback": ("Let the old target answer again", ()),
    "budget raise": ("Raise the budget", ("tokens", "usd", "until")),
    "recover": ("Send every open document again", ()),
    "verify": ("Compare tables and indexes", ("source", "target")),
}


@dataclass(frozen=True)
class Field:
    """An option of a command, as a form shows it."""

    name: str
    label: str
    help: str
    value: str
    choices: tuple[str, ...] = ()
    is_needed: bool = False


@dataclass(frozen=True)
class Action:
    """One command with what the URL says about it."""

    words: str
    query: QueryParams

    @property
    def title(self) -> str:
        return OFFERED[self.words][0]

    @property
    def summary(self) -> str:
        return (command(self.words).help or "").split("\n\n")[0]

    @property
    def is_noted(self) -> bool:
        """Tell whether it changes anything, and so stands in the log of actions."""
        return command(self.words).proposes is not None

    def fields(self, deployment: "Deployment") -> list[Field]:
        """Return what a person may set."""
        return list(_fields(self, deployment))

    def shell(self, deployment: "Deployment", reason: str = "...") -> str:
        """Return the same as a command."""
        said = ["--reason", reason] if self.is_noted else []
        return deployment.command(*self.words.split(), *arguments(self.words, self.query), *said)

    def propose(self, deployment: "Deployment", reason: str | None = None) -> Proposal[Any]:
        """Count what it would do, and change nothing."""
        given = values(self.words, self.query, reason=reason)
        made = command(self.words).proposes
        if made is None:
            return _comparison(deployment, given)
        proposal: Proposal[Any] = made(deployment, **given)
        return proposal


def find_action(words: str, query: QueryParams) -> Action:
    """Return what is offered under these words."""
    if words not in OFFERED:
        raise UsageError(f"the console does not offer {words!r}")
    return Action(words, query)


def _comparison(deployment: "Deployment", given: dict[str, Any]) -> Proposal[Any]:
    """Compare tables with indexes: it changes nothing, but reads every item."""
    from ops.verification import comparison, pairs, verify

    found = pairs(deployment, given.get("source"), given.get("target"))
    items = sum(comparison(deployment, pair).table.count(pair.source) for pair in found)
    what = ", ".join(pair.name for pair in found)
    return Proposal(
        f"read about {items:,} items and compare {what}", items, lambda: verify(deployment, **given)
    )


def _fields(action: Action, deployment: "Deployment") -> Iterator[Field]:
    offered = OFFERED[action.words][1]
    known = {"source": tuple(deployment.sources), "target": tuple(deployment.targets)}
    for param in command(action.words).params:
        name = param.name or ""
        if name not in offered or not isinstance(param, click.Option):
            continue
        choices = known.get(name, ())
        if isinstance(param.type, click.Choice):
            choices = tuple(map(str, param.type.choices))
        default = param.default if isinstance(param.default, str) else ""
        yield Field(
            name=name,
            label=name.replace("_", " ").capitalize(),
            help=param.help or "",
            value=action.query.get(name, default),
            choices=choices,
            is_needed=param.required,
        )
