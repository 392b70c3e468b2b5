"""The command `embedq`: all nouns together, and one place for exit codes."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from embedq import __version__
from ops import (
    actions,
    backfilling,
    breakers,
    breaking,
    budgets,
    dead_changes,
    dead_export,
    dead_letters,
    dead_moves,
    documents,
    embedding,
    evaluation,
    forgetting,
    health,
    jobs,
    lanes,
    logs,
    migrating,
    planning,
    recovery,
    searching,
    smoke,
    stack,
    statistics,
    stuck,
    timeline,
    verification,
    waiting,
)
from ops.console import command as console
from ops.frame import HELP_OPTIONS, Noun, Root
from ops.output import FAILED, INTERRUPTED, OK, WRONG_USE, Answer

NAME = "embedq"
# The wheel is without it.
ONE_MACHINE_MODE = Path(__file__).resolve().parents[1] / "local"
NOT_HERE = (
    "an installed package runs no stack on this machine: name a stage in AWS with --stage, or run"
    " `make setup` in a checkout of embedq and .venv/bin/embedq there"
)
SHELL = Noun("Shell")
NOUNS = (
    stack.NOUN,
    breaking.NOUN,
    breaking.POISON,
    logs.NOUN,
    documents.NOUN,
    waiting.NOUN,
    timeline.NOUN,
    embedding.NOUN,
    backfilling.NOUN,
    searching.NOUN,
    evaluation.NOUN,
    statistics.NOUN,
    lanes.NOUN,
    health.NOUN,
    console.NOUN,
    stuck.NOUN,
    actions.NOUN,
    verification.NOUN,
    smoke.NOUN,
    recovery.NOUN,
    dead_letters.NOUN,
    dead_export.NOUN,
    dead_changes.NOUN,
    dead_moves.NOUN,
    breakers.NOUN,
    budgets.NOUN,
    jobs.NOUN,
    migrating.NOUN,
    planning.NOUN,
    forgetting.NOUN,
    SHELL,
)
EPILOG = """\
Without --stage a command talks to the stack on this machine.

\b
Exit codes:
  0    done
  1    a difference was found, or the command failed
  2    wrong use: the message says what to change
  130  ended by Ctrl-C"""


class Completion(Answer):
    """What a shell runs to complete commands and options."""

    script: str

    def view(self) -> Iterable[str]:
        return [self.script]


@SHELL.command(
    click.Argument(["shell"], type=click.Choice(["bash", "zsh", "fish"]), help="Your shell."),
    examples=[
        "completion bash >> ~/.bashrc",
        "completion zsh >> ~/.zshrc",
        "completion fish > ~/.config/fish/completions/embedq.fish",
    ],
)
def completion(shell: str) -> Completion:
    """Print what to add to a shell's start file for tab completion."""
    made = get_completion_class(shell)
    assert made is not None
    return Completion(script=made(command_line(), {}, NAME, f"_{NAME.upper()}_COMPLETE").source())


def command_line() -> Root:
    """Put the commands of all nouns together."""
    root = Root(
        NOUNS,
        name=NAME,
        help="Make every write to a DynamoDB table searchable in OpenSearch.",
        epilog=EPILOG,
        examples=["up", """put '{"id": "a", "title": "Hello", "body": "World"}'""", "stats"],
        context_settings={"help_option_names": HELP_OPTIONS, "max_content_width": 100},
    )
    return click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")(root)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    try:
        return int(command_line().main(arguments, NAME, standalone_mode=False) or OK)
    except click.exceptions.NoArgsIsHelpError as asked:
        # Of a group it is the answer; a command could not do what it was asked for.
        is_answer = isinstance(asked.ctx.command, click.Group)
        click.echo(asked.message, err=not is_answer)
        return OK if is_answer else WRONG_USE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        code, message = _in_words(error)
        if not message:
            raise
        click.echo(f"{NAME}: {message}", err=True)
        return code


def _in_words(error: Exception) -> tuple[int, str]:
    """Return the exit code and the sentence of what is no fault of the program, else none."""
    if isinstance(error, ModuleNotFoundError):
        return WRONG_USE, "" if ONE_MACHINE_MODE.is_dir() else NOT_HERE
    if isinstance(error, OSError):
        # A full disk, a file that may not be read: in the words of the system.
        where = f": {error.filename}" if error.filename else ""
        return FAILED, f"{error.strerror or error}{where}"
    # Loaded only now, as it takes most of a second; an error of its clients has loaded it.
    from ops.deployment import STACK_ERRORS

    is_known = isinstance(error, STACK_ERRORS)
    return FAILED, f"a call to the stack failed: {error}" if is_known else ""
