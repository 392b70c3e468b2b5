"""What a command prints: its answer on stdout, everything else on stderr."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from io import StringIO
from operator import length_hint
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

OK, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
# A pipe has no width: nothing is wrapped or cut there.
PIPE_WIDTH = 10_000
# Ids and messages may hold what a terminal obeys: it is shown, and obeyed by none.
OBEYED = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"
}
# They end a line, as in a table, which would have a row more.
OBEYED |= {code: f"\\u{code:04x}" for code in (0x2028, 0x2029)}

Item = TypeVar("Item")


class Follower(Protocol):
    """Who follows a command that runs without a terminal, as one of the console page does."""

    def said(self, text: str) -> None:
        """Be told a line that a terminal would show."""

    def moved(self, what: str, done: int, total: int | None) -> None:
        """Be told how far it is; raise to end it there."""


FOLLOWER: ContextVar[Follower | None] = ContextVar("follower", default=None)


class CommandError(click.ClickException):
    """The command failed; the message says why."""

    exit_code = FAILED

    def show(self, file: object = None) -> None:  # noqa: ARG002  (click's signature)
        """Print one line, without the usage of the command."""
        click.echo(f"embedq: {harmless(self.message)}", err=True)


class UsageError(CommandError):
    """The command cannot be carried out as asked; the message says what to do."""

    exit_code = WRONG_USE


class Answer(BaseModel):
    """What a command found or did: `--json` prints the fields, a person sees the view."""

    # The schema says so too: no field is printed that it does not name.
    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def exit_code(self) -> int:
        """Return the exit code of a command with this answer."""
        return OK

    def view(self) -> Iterable["RenderableType"]:
        """Return the lines and tables that a person sees."""
        raise NotImplementedError

    @property
    def outcome(self) -> str:
        """Return the line that tells what came of it, for `embedq actions`."""
        return next(iter(as_text(self).splitlines()), "done")


def show(answer: Answer, *, as_json: bool, is_line: bool = False) -> None:
    """Print an answer to stdout, at once; one of many JSON answers takes one line."""
    if as_json:
        click.echo(answer.model_dump_json(indent=None if is_line else 2))
    elif sys.stdout and sys.stdout.isatty():
        for part in answer.view():
            _terminal(stderr=False).print(_harmless(part), soft_wrap=isinstance(part, str))
    else:
        click.echo(as_text(answer))


def as_text(answer: Answer) -> str:
    """Return the view of an answer as a pipe gets it: no colours, no wrapped lines."""
    console = _console(file=StringIO(), width=PIPE_WIDTH)
    with console.capture() as captured:
        for part in answer.view():
            console.print(_harmless(part))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def say(text: str) -> None:
    """Print a line to stderr, at once, or tell it to who follows the command."""
    if follower := FOLLOWER.get():
        follower.said(text)
        return
    _terminal(stderr=True).print(harmless(text), soft_wrap=True)


def harmless(text: str) -> str:
    """Return a text whose control characters are spelled out, but for tabs and ends of lines."""
    return text.translate(OBEYED)


def _harmless(part: "RenderableType") -> "RenderableType":
    return harmless(part) if isinstance(part, str) else part


def narrate(text: str) -> None:
    """Print a line of a text that is the command's output; `--json` moves it to stderr."""
    context = click.get_current_context(silent=True)
    click.echo(text, err=bool(context and context.params.get("json")))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> "RenderableType":
    """Return a table without lines, as wide as its content.

    A narrow terminal breaks cells and cuts none: an id is to be read, and copied, as a whole.
    """
    from rich.table import Column, Table

    headers = [Column(name, overflow="fold") for name in columns]
    made = Table(*headers, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for row in rows:
        made.add_row(*("" if cell is None else harmless(str(cell)) for cell in row))
    return made


def progress(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """Yield the items, with a progress bar on a terminal's stderr."""
    if follower := FOLLOWER.get():
        return _followed(follower, items, what, total)
    from rich.progress import track

    console = _terminal(stderr=True)
    hidden = not console.is_terminal
    return track(items, what, total, console=console, transient=True, disable=hidden)


def bar() -> "Progress":
    """Return a progress bar on a terminal's stderr, to be moved by hand."""
    from rich.progress import Progress

    console = _terminal(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


def _followed(
    follower: Follower, items: Iterable[Item], what: str, total: int | None
) -> Iterator[Item]:
    known = length_hint(items) or None if total is None else total
    follower.moved(what, 0, known)
    for done, item in enumerate(items, 1):
        yield item
        follower.moved(what, done, known)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before a large change; without a terminal, only `--yes` is an answer."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} There is no terminal to ask on: answer with --yes")
    click.confirm(question, abort=True, err=True)


def moment(at_ms: int) -> datetime:
    """Return a time in milliseconds as a date."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def written(at: datetime | None) -> str:
    """Write a time for people."""
    return at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""


@cache
def _terminal(*, stderr: bool) -> "Console":
    return _console(stderr=stderr)


def _console(**settings: Any) -> "Console":
    from rich.console import Console

    # Ids and messages are printed as they are, whatever brackets and colons they hold.
    return Console(markup=False, emoji=False, highlight=False, **settings)
