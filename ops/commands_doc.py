"""docs/commands.md: the help of every command, written by `make docs`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ops.cli import command_line

PATH = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
WIDTH = 100
OPENING = """\
# Commands

`.venv/bin/embedq` talks to the stack on this machine, or with `--stage NAME` to that stage in
your AWS account. Answers go to stdout, everything else to stderr; `--json` prints the answer as
JSON. Colours are for terminals only, and `NO_COLOR=1` switches them off there. No command asks a
question without a terminal: it ends with exit code 2 and names `--yes`.
"""


def commands_page() -> str:
    """Write the page."""
    sections = [f"\n## {title}\n\n```\n{text.strip()}\n```\n" for title, text in _help()]
    return OPENING + "".join(sections)


def _help(
    command: click.Command | None = None, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    shown = command or command_line()
    settings = {**shown.context_settings, "terminal_width": WIDTH}
    context = click.Context(shown, parent, info_name=shown.name, **settings)
    yield context.command_path, context.get_help()
    if isinstance(shown, click.Group):
        for inner in shown.commands.values():
            yield from _help(inner, context)


def main() -> int:
    """Write docs/commands.md."""
    PATH.write_text(commands_page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
