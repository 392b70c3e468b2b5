"""The frame of every command: its help, `--json`, and the stack that it talks to."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ops.output import OK, Answer, UsageError, say, show

if TYPE_CHECKING:
    from ops.deployment import Deployment

Function = TypeVar("Function", bound=Callable[..., Any])

DOCUMENT = click.Argument(
    ["document"], help="The document's id; of a composite key PARTITION|SORT."
)
SOURCE = click.Option(["--source"], metavar="NAME", help="The source, if there are several.")
TARGET = click.Option(["--target"], metavar="NAME", help="The target, if there are several.")
YES = click.Option(["--yes"], is_flag=True, help="Do not ask.")
_JSON = click.Option(["--json"], is_flag=True, help="Print the answer as JSON.")
_PLACE = (
    click.Option(
        ["--stage"],
        metavar="NAME",
        help="A stage in AWS, or a stack there that holds an EmbeddingPipeline of your own app;"
        " without it, the stack on this machine.",
    ),
    click.Option(["--profile"], metavar="NAME", help="The AWS profile for --stage."),
    click.Option(["--region"], metavar="NAME", help="The AWS region for --stage."),
)


class Command(click.Command):
    """A command whose help begins with examples."""

    def __init__(self, *, examples: Sequence[str], **settings: Any) -> None:
        super().__init__(**settings)
        self.examples = examples

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write summary and examples before the usage and the options."""
        self.format_help_text(ctx, formatter)
        write_examples(formatter, self.examples)
        formatter.write_paragraph()
        self.format_usage(ctx, formatter)
        self.format_arguments(ctx, formatter)
        self.format_options(ctx, formatter)


class Noun:
    """The commands about one thing, under one heading of the help."""

    def __init__(self, heading: str, *, group: str | None = None, summary: str = "") -> None:
        """`group` puts the commands behind one word, as in `embedq dead list`."""
        self.heading = heading
        self.group = group
        self.summary = summary
        self.commands: list[click.Command] = []

    def command(
        self, *params: click.Parameter, examples: Sequence[str], name: str | None = None
    ) -> Callable[[Function], Function]:
        """Register a function as a command; it is given the values of `params`."""

        def register(function: Function) -> Function:
            self.commands.append(
                Command(
                    name=name or function.__name__,
                    params=[*params, _JSON],
                    help=function.__doc__,
                    examples=examples,
                    callback=lambda json, **values: _answer(function(**values), as_json=json),
                )
            )
            return function

        return register

    def stack_command(
        self,
        *params: click.Parameter,
        examples: Sequence[str],
        name: str | None = None,
        only_reads: bool = False,
    ) -> Callable[[Function], Function]:
        """Register a function that is given the chosen deployment before the values.

        Unless it only reads, it begins with the name of the stack that it changes.
        """

        def register(function: Function) -> Function:
            def connected(
                stage: str | None, profile: str | None, region: str | None, **values: Any
            ) -> Any:
                deployment = connect(stage, profile, region)
                if not only_reads:
                    say(f"This changes {deployment.place}.")
                return function(deployment, **values)

            connected.__doc__ = function.__doc__
            named = name or function.__name__
            self.command(*params, *_PLACE, examples=examples, name=named)(connected)
            return function

        return register


class Root(click.Group):
    """The command `embedq`: its help lists the commands under the headings of their nouns."""

    def __init__(self, nouns: Sequence[Noun], *, examples: Sequence[str], **settings: Any) -> None:
        super().__init__(no_args_is_help=True, **settings)
        self.examples = examples
        self.headings: dict[str, list[click.Command]] = {}
        for noun in nouns:
            commands = noun.commands
            if noun.group:
                inner = click.Group(
                    noun.group, commands=commands, help=noun.summary, no_args_is_help=True
                )
                commands = [inner]
            for command in commands:
                self.add_command(command)
            self.headings.setdefault(noun.heading, []).extend(commands)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples after the summary."""
        super().format_help_text(ctx, formatter)
        write_examples(formatter, self.examples)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands noun by noun."""
        del ctx
        for heading, commands in self.headings.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(one.name or "", one.get_short_help_str(80)) for one in commands]
                )


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Write a section of command lines, which are never wrapped."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"  embedq {example}\n")


def connect(stage: str | None, profile: str | None, region: str | None) -> "Deployment":
    """Find the stack of a stage in AWS, or the one on this machine."""
    if stage is not None:
        from ops.deployment import in_aws

        return in_aws(stage, profile=profile, region=region)
    if profile or region:
        raise UsageError("--profile and --region are for a stage in AWS: name it with --stage")
    # Only a command that talks to the stack on this machine loads what starts it.
    from ops.stack import running_here

    return running_here()


def _answer(answer: Answer | Iterator[Answer], *, as_json: bool) -> int:
    try:
        if isinstance(answer, Answer):
            show(answer, as_json=as_json)
            return answer.exit_code
        for line in answer:
            show(line, as_json=as_json, is_line=True)
    except BrokenPipeError:
        # The reader has seen enough: `embedq logs | head`. For click that is a failure.
        sys.stdout = None
    return OK
