"""The stack on this machine. Only these commands and the demo load `local`."""

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from ops.frame import YES, Noun
from ops.numbers import Count
from ops.output import FAILED, OK, Answer, CommandError, UsageError, say

if TYPE_CHECKING:
    from local import background
    from local.stages import ChosenStage
    from ops.deployment import Deployment

NOT_RUNNING = "no stack runs here: start one with `embedq up`"
STAGE = click.Argument(
    ["stage"],
    required=False,
    metavar="[NAME]",
    help="A stage of cdk.json; without it, the stage of the demo.",
)
NOUN = Noun("Stack on this machine")


class Running(Answer):
    """A stack on this machine, and the environment in which any AWS client reaches it."""

    stack: str
    environment: dict[str, str]

    def view(self) -> Iterable[str]:
        lines = [f"  export {name}={value}" for name, value in self.environment.items()]
        return [
            f"The stack {self.stack} runs until `embedq down`. Any AWS client reaches it with",
            *lines,
        ]


class Stopped(Answer):
    """Whether a stack ran, and was stopped."""

    stopped: bool
    again: str | None = None  # the command that finds its documents again

    def view(self) -> Iterable[str]:
        kept = f" Its documents are kept for the next `{self.again}`." if self.again else ""
        return [f"The stack is stopped.{kept}" if self.stopped else "No stack runs here."]


class Demo(Answer):
    """How the demo ended."""

    error: str | None
    seconds: float
    next: str

    @property
    def exit_code(self) -> int:
        return FAILED if self.error else OK

    def view(self) -> Iterable[str]:
        if self.error:
            yield f"\nThe demo stopped: {self.error}."
        yield f"\nDone in {self.seconds:.0f} s."
        yield self.next


class ShellEnvironment(Answer):
    """The variables with which any AWS client reaches the stack on this machine."""

    environment: dict[str, str]

    def view(self) -> Iterable[str]:
        return [f"export {name}={shlex.quote(value)}" for name, value in self.environment.items()]


@NOUN.command(
    STAGE,
    click.Option(["--hashed"], is_flag=True, help="Hashed vectors, no model: for load tests."),
    click.Option(
        ["--port"],
        type=Count(1, 65535),
        help="The port of the AWS endpoint; without it, the one of the last time.",
    ),
    examples=["up", "up dev", "up --port 4566", "up --hashed"],
)
def up(stage: str | None, *, hashed: bool, port: int | None) -> Running:
    """Start the whole stack on this machine, with the stage of the demo or one of cdk.json."""
    from local import background
    from local.engines import EngineError

    chosen = choose_stage(stage)
    vectors = "hashed" if hashed else "minilm"
    found = background.find_any()
    if found:
        _, running = found
        _refuse_other(running, stage, vectors, port)
    else:
        say(f"starting the stack {chosen.stack} on this machine")
        folder = background.folder_of(chosen, vectors)
        try:
            running = background.up(say, folder, stage=chosen, vectors=vectors, port=port)
        except (EngineError, background.NotStartedError) as error:
            raise CommandError(str(error)) from error
    return Running(stack=running.stack, environment=_environment(running.endpoint_url))


@NOUN.command(examples=["down"])
def down() -> Stopped:
    """Stop the stack on this machine."""
    from local import background
    from local.engines import EngineError

    if found := background.find_any():
        say(f"stopping the stack {found[1].stack} on this machine")
    try:
        ended = [folder for folder in background.folders() if background.down(folder)]
    except EngineError as error:
        raise CommandError(str(error)) from error
    if found is None or found[0] == background.demo_folder():
        return Stopped(stopped=bool(ended))
    return Stopped(stopped=bool(ended), again=" ".join(["embedq up", found[1].stage or ""]).strip())


@NOUN.command(examples=["env", 'eval "$(embedq env)"'])
def env() -> ShellEnvironment:
    """Print what a shell needs so that any AWS client reaches the stack on this machine."""
    from local import background

    found = background.find_any()
    if found is None:
        raise UsageError(not_running())
    return ShellEnvironment(environment=_environment(found[1].endpoint_url))


@NOUN.command(
    STAGE,
    click.Option(
        ["--engines"],
        type=click.Choice(["real", "memory"]),
        default="real",
        show_default=True,
        help="`memory` needs no download and no Java.",
    ),
    click.Option(
        ["--keep"],
        is_flag=True,
        help="Leave the stack running afterwards, with its documents: it is that of `embedq up`.",
    ),
    YES,
    examples=["demo", "demo dev", "demo --keep", "demo --engines memory"],
)
def demo(stage: str | None, *, engines: str, keep: bool, yes: bool) -> Demo:
    """Run the demo, or on a stage of cdk.json a shorter one, with items that fit its tables."""
    from ops.demo.run import run_demo

    return run_demo(choose_stage(stage), engines=engines, keep=keep, yes=yes)


def _environment(endpoint_url: str) -> dict[str, str]:
    from local.aws_client import CREDENTIALS, REGION

    return {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_REGION": REGION,
        # boto3 and the aws command of version 1 know this name only.
        "AWS_DEFAULT_REGION": REGION,
        **CREDENTIALS,
    }


def choose_stage(name: str | None) -> "ChosenStage":
    """Return the stage of cdk.json by this name, free of mistakes, or the standard one."""
    from infrastructure.config.mistakes import ConfigError
    from local.stages import STANDARD, own_stage

    if name is None:
        return STANDARD
    chosen = own_stage(name)
    try:
        chosen.read()
    except ConfigError as error:
        raise UsageError(str(error)) from error
    return chosen


def _refuse_other(
    running: "background.Running", stage: str | None, vectors: str, port: int | None
) -> None:
    """Never let a stack that runs pass for another one."""
    if stage is not None and stage != running.stage:
        which = f"stage {running.stage}" if running.stage else "the standard stage"
    elif vectors == "hashed" and vectors != running.vectors:
        which = "a stack with a real model"
    elif port is not None and port != urlsplit(running.endpoint_url).port:
        which = f"a stack at {running.endpoint_url}"
    else:
        return
    raise UsageError(f"{which} runs here already: first `embedq down`")


def running_here() -> "Deployment":
    """Find the stack that runs on this machine."""
    from local import background

    found = background.find_any()
    if found is None:
        raise UsageError(not_running(", or name a stage in AWS with --stage"))
    _, running = found
    return local_deployment(running.endpoint_url, running.stack)


def not_running(other: str = "") -> str:
    """Say how to start a stack, and what became of one that nobody has stopped."""
    from local import background

    end = background.last_end()
    return f"{NOT_RUNNING}{other}" + (f"; {end}" if end else "")


def local_deployment(endpoint_url: str, stack: str | None = None) -> "Deployment":
    """Find a stack behind an endpoint of this machine."""
    from local.aws_client import local_session
    from local.stages import STANDARD
    from ops.deployment import describe

    return describe(stack or STANDARD.stack, local_session(), endpoint_url=endpoint_url)
