"""The commands of who operates a stage."""

from collections.abc import Callable
from typing import Any

from functions.core.failure import Part
from functions.core.lane import PRIORITIES
from ops import breakers, dead_letters, recovery, statistics, stuck
from ops.command import add_remote


def add_operator_commands(commands: Any) -> None:
    """Add what tells how all documents are, and sends them again."""
    add_remote(
        commands,
        "stats",
        "count documents by status and messages by lane",
        lambda deployment, _: statistics.stats(deployment),
        "stats",
        "stats --stage prod",
    )
    waiting = add_remote(
        commands,
        "stuck",
        "list open documents that nothing happens to, oldest first",
        lambda deployment, chosen: stuck.stuck(deployment, hours=chosen.hours),
        "stuck",
        "stuck --hours 1 --stage prod",
    )
    waiting.add_argument(
        "--hours", type=float, default=24.0, help="for how long at least (default: 24)"
    )
    add_remote(
        commands,
        "recover",
        "send every open document again: for a queue that was lost or purged",
        lambda deployment, _: recovery.recover(deployment),
        "recover",
    )
    again = add_remote(
        commands,
        "requeue",
        "send one document again, with all its attempts, at any priority",
        lambda deployment, chosen: recovery.requeue(
            deployment,
            chosen.document,
            lane=chosen.lane,
            source=chosen.source,
            target=chosen.target,
        ),
        "requeue tortoise-and-hare --lane high",
    )
    again.add_argument("document", help="the document's id; of a composite key: PARTITION|SORT")
    again.add_argument(
        "--lane", choices=[str(lane) for lane in PRIORITIES], default="normal", help="its priority"
    )
    again.add_argument("--source", help="which source, if there are several")
    again.add_argument("--target", help="which target, if there are several")
    dead = commands.add_parser("dead", help="dead letters: what needs a person")
    inside = dead.add_subparsers(metavar="COMMAND", required=True)
    add_remote(
        inside,
        "list",
        "list failed documents, grouped by cause",
        lambda deployment, _: dead_letters.dead_list(deployment),
        "dead list",
    )


def add_breaker_commands(commands: Any) -> None:
    """Add what stops a target, and lets it go on."""
    add_remote(
        commands,
        "breakers",
        "tell which targets are stopped, since when and why",
        lambda deployment, _: breakers.breakers(deployment),
        "breakers --stage prod",
    )
    _add_switch(
        commands,
        "pause",
        "stop the work of a target; nothing is lost",
        breakers.pause,
        'pause --reason "the key is being replaced"',
        'pause --part index --stage prod --reason "the domain is being resized"',
    )
    _add_switch(
        commands,
        "resume",
        "let a stopped target go on, lane by lane",
        breakers.resume,
        'resume --reason "the key is replaced"',
        'resume --part index --stage prod --reason "the domain is resized"',
    )


def _add_switch(
    commands: Any, name: str, summary: str, switch: Callable[..., list[str]], *examples: str
) -> None:
    added = add_remote(
        commands,
        name,
        summary,
        lambda deployment, chosen: switch(
            deployment, target=chosen.target, part=chosen.part, reason=chosen.reason
        ),
        *examples,
    )
    added.add_argument("--reason", required=True, help="why: it is logged and shown")
    added.add_argument(
        "--part",
        choices=[str(part) for part in Part],
        default=str(Part.PROVIDER),
        help="which breaker: deletes stop with the index only (default: provider)",
    )
    added.add_argument("--target", help="which target, if there are several")
