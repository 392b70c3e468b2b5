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
    budgets,
    dead_changes,
    dead_export,
    dead_letters,
    documents,
    embedding,
    forgetting,
    health,
    jobs,
    lanes,
    logs,
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
from ops.frame import Noun, Root
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
    logs.NOUN,
    documents.NOUN,
    waiting.NOUN,
    timeline.NOUN,
    embedding.NOUN,
    backfilling.NOUN,
    searching.NOUN,
    statistics.NOUN,
    lanes.NOUN,
    health.NOUN,
    stuck.NOUN,
    actions.NOUN,
    verification.NOUN,
    smoke.NOUN,
    recovery.NOUN,
    dead_letters.NOUN,
    dead_export.NOUN,
    dead_changes.NOUN,
    breakers.NOUN,
    budgets.NOUN,
    jobs.NOUN,
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
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    return click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")(root)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    try:
        return int(command_line().main(arguments, NAME, standalone_mode=False) or OK)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.message)
        return OK
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except ModuleNotFoundError:
        if ONE_MACHINE_MODE.is_dir():
            raise
        click.echo(f"{NAME}: {NOT_HERE}", err=True)
        return WRONG_USE
    except Exception as error:
        # Loaded only now, as it takes most of a second; an error of its clients has loaded it.
        from ops.deployment import STACK_ERRORS

        if not isinstance(error, STACK_ERRORS):
            raise
        click.echo(f"{NAME}: a call to the stack failed: {error}", err=True)
        return FAILED
