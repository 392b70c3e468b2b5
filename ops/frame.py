"""The frame of every command: its help, `--json`, the stack that it talks to, and for one that
changes something `--reason`, `--dry-run` and a note of what was done."""

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

import click

from functions.core.identity import is_unicode
from ops.output import OK, Answer, UsageError, say, show
from ops.proposal import DryRun, Proposal, carry_out

if TYPE_CHECKING:
    from ops.deployment import Deployment

Function = TypeVar("Function", bound=Callable[..., Any])

HELP_OPTIONS = ["-h", "--help"]
UNCUT = 1000  # letters of a summary in a list of commands: more than any has
DOCUMENT = click.Argument(
    ["document"], help="The document's id; of a composite key PARTITION|SORT."
)
SOURCE = click.Option(["--source"], metavar="NAME", help="The source, if there are several.")
TARGET = click.Option(["--target"], metavar="NAME", help="The target, if there are several.")
YES = click.Option(["--yes"], is_flag=True, help="Do not ask.")
_DRY_RUN = click.Option(
    ["--dry-run"], is_flag=True, help="Say what would be done, and to how many documents."
)
_JSON = click.Option(["--json"], is_flag=True, help="Print the answer as JSON.")
PLACE = (
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

    def __init__(
        self,
        *,
        examples: Sequence[str],
        answers: Sequence[type[Answer]],
        proposes: Callable[..., Any] | None = None,
        **settings: Any,
    ) -> None:
        """`answers` are the types of what it prints; `--json` follows their schema.

        `proposes` is given a deployment and the values of the parameters, and changes nothing.
        """
        # Whoever types the name alone wants to know what comes behind it.
        needs_more = any(param.required for param in settings["params"])
        super().__init__(no_args_is_help=needs_more, **settings)
        self.examples = examples
        self.answers = answers
        self.proposes = proposes

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what is no text, and a `--yes` without a question: click would offer --reason."""
        for one in args:
            if not is_unicode(one):
                raise click.UsageError(f"{one!a} is not UTF-8: set the terminal to it", ctx)
        words = list(args)  # click takes them out of its list
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name in YES.opts:
                message = "this command asks nothing: leave --yes out"
                raise click.UsageError(message, ctx) from None
            if hint := self._meant(error.option_name, words):
                raise click.UsageError(f"{error.format_message()} {hint}", ctx) from None
            raise

    def _meant(self, option: str, words: Sequence[str]) -> str:
        """Say how an id is written that begins like an option; of -ab click names -a alone."""
        takes_words = any(isinstance(param, click.Argument) for param in self.params)
        if option.startswith("--") or not takes_words:
            return ""
        word = next((one for one in words if one.startswith(option)), option)
        return f"An id or a word that begins with - comes last, after --: -- {shlex.quote(word)}"

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

    def __init__(
        self, heading: str, *, group: str | None = None, summary: str = "", default: str = ""
    ) -> None:
        """`group` puts the commands behind one word, as in `embedq dead list`.

        `default` is the command of the word alone.
        """
        self.heading = heading
        self.default = default
        self.group = group
        self.summary = summary
        self.commands: list[click.Command] = []

    def command(
        self, *params: click.Parameter, examples: Sequence[str], name: str | None = None
    ) -> Callable[[Function], Function]:
        """Register a function as a command; it is given the values of `params`."""

        def register(function: Function) -> Function:
            self._add(function, function, params, examples, name)
            return function

        return register

    def stack_command(
        self, *params: click.Parameter, examples: Sequence[str], name: str | None = None
    ) -> Callable[[Function], Function]:
        """Register a function that only reads: it is given the chosen deployment first."""

        def register(function: Function) -> Function:
            def connected(**values: Any) -> Any:
                return function(_deployment(values), **values)

            self._add(function, connected, (*params, *PLACE), examples, name)
            return function

        return register

    def change_command(
        self,
        *params: click.Parameter,
        examples: Sequence[str],
        name: str | None = None,
        asks: bool = False,
        needs_reason: bool = False,
    ) -> Callable[[Function], Function]:
        """Register a function that proposes a change; it is carried out and noted here.

        It begins with the name of the stack that it changes, and is given a reason that it needs.
        """

        def register(function: Function) -> Function:
            named = " ".join(filter(None, [self.group, name or function.__name__]))

            def proposing(
                *, reason: str | None, dry_run: bool, yes: bool = False, **values: Any
            ) -> Any:
                if needs_reason and not (reason or "").strip():
                    raise UsageError("say why, with --reason: it is shown to the next operator")
                deployment = _deployment(values)
                say(f"This {'would change' if dry_run else 'changes'} {deployment.place}.")
                if needs_reason:
                    values["reason"] = reason
                proposal = function(deployment, **values)
                return carry_out(
                    deployment, named, proposal, reason=reason, dry_run=dry_run, yes=yes
                )

            own = (*params, _reason(needed=needs_reason), _DRY_RUN, *([YES] if asks else []))
            self._add(function, proposing, (*own, *PLACE), examples, name, proposes=function)
            return function

        return register

    def _add(
        self,
        function: Callable[..., Any],
        called: Callable[..., Any],
        params: Sequence[click.Parameter],
        examples: Sequence[str],
        name: str | None,
        proposes: Callable[..., Any] | None = None,
    ) -> None:
        self.commands.append(
            Command(
                name=name or function.__name__,
                params=[*params, _JSON],
                help=function.__doc__,
                examples=examples,
                answers=_answers(function.__annotations__["return"]),
                proposes=proposes,
                callback=lambda json, **values: _answer(called(**values), as_json=json),
            )
        )


class _Group(click.Group):
    """Commands behind one word, in the order in which they were registered."""

    def __init__(self, name: str | None, *, default: str, **settings: Any) -> None:
        super().__init__(name, no_args_is_help=not default, **settings)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let the word alone, or with options, mean its default command."""
        is_bare = not args or args[0].startswith("-")
        if self._default and is_bare and not set(args) & set(ctx.help_option_names):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        _list(formatter, "Commands", self.commands.values())


class Root(click.Group):
    """The command `embedq`: its help lists the commands under the headings of their nouns."""

    def __init__(self, nouns: Sequence[Noun], *, examples: Sequence[str], **settings: Any) -> None:
        super().__init__(no_args_is_help=True, **settings)
        self.examples = examples
        self.headings: dict[str, list[click.Command]] = {}
        for noun in nouns:
            commands = noun.commands
            if noun.group:
                commands = self._grouped(noun)
            for command in commands:
                self.add_command(command)
            self.headings.setdefault(noun.heading, []).extend(commands)

    def _grouped(self, noun: Noun) -> list[click.Command]:
        """Put commands behind their word; return the group, if it is new."""
        known = self.commands.get(noun.group or "")
        if isinstance(known, click.Group):
            for command in noun.commands:
                known.add_command(command)
            return []
        help_ = noun.summary
        return [_Group(noun.group, default=noun.default, commands=noun.commands, help=help_)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples after the summary."""
        super().format_help_text(ctx, formatter)
        write_examples(formatter, self.examples)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands noun by noun."""
        del ctx
        for heading, commands in self.headings.items():
            _list(formatter, heading, commands)


def _list(formatter: click.HelpFormatter, heading: str, commands: Iterable[click.Command]) -> None:
    with formatter.section(heading):
        formatter.write_dl([(one.name or "", one.get_short_help_str(UNCUT)) for one in commands])


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Write a section of command lines, which are never wrapped."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"  embedq {example}\n")


def connect(stage: str | None, profile: str | None, region: str | None) -> "Deployment":
    """Find the stack of a stage in AWS, or the one on this machine."""
    if stage is not None:
        if not stage.strip():
            raise UsageError("--stage is empty: name a stage")
        from ops.deployment import in_aws

        return in_aws(stage, profile=profile, region=region)
    if profile or region:
        raise UsageError("--profile and --region are for a stage in AWS: name it with --stage")
    # Only a command that talks to the stack on this machine loads what starts it.
    from ops.stack import running_here

    return running_here()


def _deployment(values: dict[str, Any]) -> "Deployment":
    """Take the options that choose a stack out of the values, and find it."""
    return connect(*(values.pop(option.name) for option in PLACE))


def _reason(*, needed: bool) -> click.Option:
    why = "Why: `embedq actions` shows it."
    return click.Option(["--reason"], metavar="TEXT", required=needed, help=why)


def _answers(annotation: Any) -> list[type[Answer]]:
    """Return what a command may print, by what its function returns."""
    inner = get_args(annotation)
    if get_origin(annotation) is Proposal:
        return [*_answers(inner[0]), DryRun]
    return list(inner) or [annotation]


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
