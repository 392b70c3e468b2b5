"""The stack on this machine. Only these commands and the demo load `local`."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click
from pydantic import field_serializer

from ops.frame import Noun
from ops.output import Answer, CommandError, UsageError, say

if TYPE_CHECKING:
    from ops.deployment import Deployment

LOOK_SECONDS = 0.3
NOUN = Noun("Stack on this machine")


class Running(Answer):
    """A stack on this machine, and the environment in which any AWS client reaches it."""

    environment: dict[str, str]

    def view(self) -> Iterable[str]:
        lines = [f"  export {name}={value}" for name, value in self.environment.items()]
        return ["The stack runs until `embedq down`. Any AWS client reaches it with", *lines]


class Stopped(Answer):
    """Whether a stack ran, and was stopped."""

    stopped: bool
    is_kept: bool = False

    def view(self) -> Iterable[str]:
        kept = " Its documents are kept for the next `embedq up`." if self.is_kept else ""
        return [f"The stack is stopped.{kept}" if self.stopped else "No stack runs here."]


class LogLine(Answer):
    """One line of a function's log."""

    function: str
    line: str

    @field_serializer("line")
    def parsed(self, line: str) -> Any:
        """Return the object that the line holds; a line that is no JSON stays as it is."""
        try:
            return json.loads(line)
        except ValueError:
            return line

    def view(self) -> Iterable[str]:
        return [self.line]


@NOUN.command(
    click.Option(["--hashed"], is_flag=True, help="Hashed vectors, no model: for load tests."),
    examples=["up", "up --hashed"],
)
def up(*, hashed: bool) -> Running:
    """Start the whole stack on this machine."""
    from local import background
    from local.aws_client import CREDENTIALS, REGION
    from local.engines import EngineError

    found = background.find_any()
    if found and hashed and found[0] != background.HASHED_FOLDER:
        raise UsageError("a stack with a real model runs here: first `embedq down`")
    try:
        if found:
            _, running = found
        elif hashed:
            running = background.up(say, background.HASHED_FOLDER, vectors="hashed")
        else:
            running = background.up(say, background.FOLDER)
    except (EngineError, background.NotStartedError) as error:
        raise CommandError(str(error)) from error
    return Running(
        environment={
            "AWS_ENDPOINT_URL": running.endpoint_url,
            "AWS_REGION": REGION,
            # boto3 and the aws command of version 1 know this name only.
            "AWS_DEFAULT_REGION": REGION,
            **CREDENTIALS,
        }
    )


@NOUN.command(examples=["down"])
def down() -> Stopped:
    """Stop the stack on this machine."""
    from local import background
    from local.engines import EngineError

    try:
        ended = {folder: background.down(folder) for folder in background.FOLDERS}
    except EngineError as error:
        raise CommandError(str(error)) from error
    return Stopped(stopped=any(ended.values()), is_kept=ended[background.FOLDER])


@NOUN.command(
    click.Argument(["function"], required=False, help="A part of the function's name."),
    click.Option(["--follow"], is_flag=True, help="Go on with new lines until Ctrl-C."),
    examples=["logs", "logs embed --follow"],
)
def logs(function: str | None, *, follow: bool) -> Iterator[LogLine]:
    """Show what the functions of the stack on this machine have logged."""
    from local import background

    found = background.find_any()
    folder = (found[0] if found else background.FOLDER) / "runner" / "logs"
    shown: dict[str, int] = {}
    while True:
        paths = sorted(p for p in folder.glob("*.log") if function is None or function in p.stem)
        if not paths and not follow:
            which = f" with {function!r} in its name" if function else ""
            raise UsageError(f"no function{which} has logged anything here yet: is the stack up?")
        for path in paths:
            lines = path.read_text(errors="replace").splitlines()
            for line in lines[shown.get(path.stem, 0) :]:
                yield LogLine(function=path.stem, line=line)
            shown[path.stem] = len(lines)
        if not follow:
            return
        time.sleep(LOOK_SECONDS)


@NOUN.command(
    click.Option(
        ["--engines"],
        type=click.Choice(["real", "memory"]),
        default="real",
        show_default=True,
        help="`memory` needs no download and no Java.",
    ),
    click.Option(["--keep"], is_flag=True, help="Leave the stack running afterwards."),
    examples=["demo", "demo --keep", "demo --engines memory"],
)
def demo(*, engines: str, keep: bool) -> Answer:
    """Run the demo: write, search, edit, delete, reject, fail, recover."""
    from ops.demo.run import run_demo

    return run_demo(engines=engines, keep=keep)


def running_here() -> "Deployment":
    """Find the stack that runs on this machine."""
    from local import background

    found = background.find_any()
    if found is None:
        raise UsageError(
            "no stack runs here: start one with `embedq up`, or name a stage in AWS with --stage"
        )
    _, running = found
    return local_deployment(running.endpoint_url, running.stack)


def local_deployment(endpoint_url: str, stack: str | None = None) -> "Deployment":
    """Find a stack behind an endpoint of this machine."""
    from local import background
    from local.aws_client import local_session
    from ops.deployment import describe

    return describe(stack or background.STACK, local_session(), endpoint_url=endpoint_url)
