"""What every command of `embedq` has: a summary, examples, and a stack that it looks at."""

import argparse
from collections.abc import Callable
from typing import Any

from ops.deployment import Deployment, connect


def add(
    commands: Any,
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int | None],
    *examples: str,
) -> argparse.ArgumentParser:
    """Add a command."""
    added: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog="examples:\n" + "\n".join(f"  embedq {example}" for example in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    added.set_defaults(run=run)
    return added


def add_remote(
    commands: Any,
    name: str,
    summary: str,
    run: Callable[[Deployment, argparse.Namespace], list[str]],
    *examples: str,
) -> argparse.ArgumentParser:
    """Add a command that looks at a stack, and prints the lines that it returns."""

    def told(chosen: argparse.Namespace) -> None:
        say("\n".join(run(connect(chosen.stage), chosen)))

    added = add(commands, name, summary, told, *examples)
    added.add_argument("--stage", help="a stage in AWS (default: the stack that runs here)")
    return added


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)
