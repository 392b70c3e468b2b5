"""A URL as a command line: the console understands what the command understands, and no more."""

from functools import cache
from typing import Any

import click
from starlette.datastructures import QueryParams

from ops.frame import HELP_OPTIONS, Command
from ops.output import UsageError

# Decided by the console itself: which stack, how it is printed, and what is asked on the way.
NOT_ASKED = {"stage", "profile", "region", "json", "reason", "dry_run", "yes", "wait", "file"}
NOT_SAID = "not said yet"


@cache
def command(words: str) -> Command:
    """Return a command by its words, such as `dead requeue`."""
    # Loaded only now: the command line loads this module's package too.
    from ops.cli import command_line

    found: click.Command = command_line()
    for word in words.split():
        assert isinstance(found, click.Group)
        found = found.commands[word]
    assert isinstance(found, Command)
    return found


def arguments(words: str, query: QueryParams) -> list[str]:
    """Spell the parameters of a URL as a shell would pass them."""
    options: list[str] = []
    positional: list[str] = []
    for param in command(words).params:
        name = param.name or ""
        given = [] if name in NOT_ASKED else [one for one in query.getlist(name) if one.strip()]
        if isinstance(param, click.Argument):
            positional += given
        elif isinstance(param, click.Option) and param.is_flag:
            wanted = param.flag_value if isinstance(param.flag_value, str) else "on"
            options += [param.opts[-1]] if wanted in given else []
        else:
            options += [f"{param.opts[-1]}={one}" for one in given]
    # An id may begin like an option.
    return [*options, *(["--"] if any(p.startswith("-") for p in positional) else []), *positional]


def values(words: str, query: QueryParams, *, reason: str | None = None) -> dict[str, Any]:
    """Return what a command's function is given for a URL; refuse what the command refuses."""
    found = command(words)
    needs_reason = any(one.name == "reason" and one.required for one in found.params)
    given = arguments(words, query)
    said = [f"--reason={reason or NOT_SAID}"] if needs_reason else []
    try:
        # A command keeps the options of its help from whoever asks it first.
        context = found.make_context(words, [*said, *given], help_option_names=HELP_OPTIONS)
    except click.UsageError as error:
        raise UsageError(error.format_message()) from error
    kept = {"reason"} if needs_reason else set()
    return {n: v for n, v in context.params.items() if n in kept or n not in NOT_ASKED}
