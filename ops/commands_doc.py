"""docs/commands.md and docs/commands.schema.json: the help of every command, and what its
`--json` prints; written by `make docs`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from pydantic.json_schema import models_json_schema

from ops.cli import command_line
from ops.frame import Command

DOCS = Path(__file__).resolve().parents[1] / "docs"
PATH = DOCS / "commands.md"
SCHEMA_PATH = DOCS / "commands.schema.json"
WIDTH = 100
OPENING = """\
# Commands

`.venv/bin/embedq` talks to the stack on this machine, or with `--stage NAME` to that stage in
your AWS account. Answers go to stdout, everything else to stderr. `--json` prints the answer as
JSON, by the schema of the command in [commands.schema.json](commands.schema.json); a command that
prints line by line prints one JSON object a line. Colours are for terminals only, and
`NO_COLOR=1` switches them off there. No command asks a question without a terminal: it ends with
exit code 2 and names `--yes`.

A command that changes something has `--dry-run`, which says to how many documents, and
`--reason`, which `embedq actions` shows. Exit codes: 0 done, 1 a difference was found or it failed,
2 wrong use, 130 ended by Ctrl-C.
"""


def commands_page() -> str:
    """Write the page."""
    contexts = _contexts(command_line(), None)
    sections = [f"\n## {c.command_path}\n\n```\n{c.get_help().strip()}\n```\n" for c in contexts]
    return OPENING + "".join(sections)


def schemas() -> dict[str, Any]:
    """Return the JSON schema of what each command prints, by its words."""
    answers = {
        context.command_path.partition(" ")[2]: context.command.answers
        for context in _contexts(command_line(), None)
        if isinstance(context.command, Command)
    }
    models = {one for found in answers.values() for one in found}
    ordered = sorted(models, key=lambda model: (model.__module__, model.__name__))
    refs, definitions = models_json_schema(
        [(model, "serialization") for model in ordered],
        ref_template="#/$defs/{model}",
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of embedq print with --json",
        "commands": {
            words: {"anyOf": [refs[one, "serialization"] for one in found]}
            for words, found in sorted(answers.items())
        },
        "$defs": definitions["$defs"],
    }


def _contexts(command: click.Command, parent: click.Context | None) -> Iterator[click.Context]:
    settings = {**command.context_settings, "terminal_width": WIDTH}
    context = click.Context(command, parent, info_name=command.name, **settings)
    yield context
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from _contexts(inner, context)


def schema_page() -> str:
    """Write the schemas as a file."""
    return json.dumps(schemas(), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write both files."""
    PATH.write_text(commands_page())
    SCHEMA_PATH.write_text(schema_page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
