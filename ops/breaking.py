"""Break the provider or the index of the stack on this machine, to see what happens then."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from ops.frame import Noun
from ops.numbers import Count
from ops.output import Answer, UsageError

if TYPE_CHECKING:
    from local.index_fault import IndexFault
    from local.provider.faults import Fault
    from ops.demo.provider import Provider

END = "embedq break end"
FOR = click.Option(
    ["--for", "seconds"],
    type=Count(min=1),
    metavar="SECONDS",
    help=f"How long; without it, until `{END}`.",
)
NOUN = Noun(
    "Stack on this machine",
    group="break",
    summary="Break the provider or the index of the stack on this machine, and repair them.",
    default="show",
)
POISON = Noun("Stack on this machine")


class Broken(Answer):
    """One part that is broken on purpose."""

    part: str  # provider or index
    what: str
    left_seconds: float | None  # None: until `embedq break end`

    def view(self) -> Iterable[str]:
        left = f"until `{END}`" if self.left_seconds is None else f"for {self.left_seconds:.0f} s"
        return [f"The {self.part} {self.what}, {left}."]


class Faults(Answer):
    """What is broken on purpose."""

    faults: list[Broken]

    def view(self) -> Iterable[str]:
        if not self.faults:
            return ["Nothing is broken: provider and index work as they should."]
        return [line for fault in self.faults for line in fault.view()]


class Status(click.ParamType[int]):
    """An HTTP status that a provider answers when it fails."""

    name = "status"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a number that is the status of a failure."""
        if str(value) in ("401", "404", "429") or (
            str(value).isdecimal() and 500 <= int(value) < 600
        ):
            return int(value)
        return self.fail(
            f"{value} is no answer of a broken provider: 401 (a wrong key), 404 (an unknown model),"
            " 429 (too many requests) or 500 to 599",
            param,
            ctx,
        )


@NOUN.command(examples=["break show", "break", "break --json"])
def show() -> Faults:
    """Show what is broken on purpose, and for how long."""
    return _in_force(*parts_here())


@NOUN.command(
    click.Argument(["status"], type=Status(), default="503", help="What it answers."),
    FOR,
    examples=["break provider", "break provider 503 --for 60", "break provider 429"],
)
def provider(status: int, *, seconds: int | None) -> Faults:
    """Let the provider answer every request with an HTTP status, 503 without another one."""
    model, entries = parts_here()
    model.add_fault(_fault(status, seconds))
    return _in_force(model, entries)


@NOUN.command(FOR, examples=["break index", "break index --for 60"])
def index(*, seconds: int | None) -> Faults:
    """Let OpenSearch answer every request with 429, as a node without memory does."""
    model, entries = parts_here()
    entries.begin(seconds)
    return _in_force(model, entries)


@NOUN.command(examples=["break end"])
def end() -> Faults:
    """Repair provider and index, and accept every text."""
    model, entries = parts_here()
    model.set_faults()
    entries.end()
    return _in_force(model, entries)


@POISON.command(
    click.Argument(["word"], help="A part of the text, as it is written."),
    FOR,
    examples=["poison xyzzy", "poison xyzzy --for 60"],
)
def poison(word: str, *, seconds: int | None) -> Faults:
    """Let the provider reject every text that holds a word; `embedq break end` ends it."""
    from local.provider.faults import Fault, FaultKind

    if not word.strip():
        raise UsageError("the word is empty, and every text would be rejected: name a part of one")
    model, entries = parts_here()
    model.add_fault(Fault(FaultKind.POISON, marker=word, for_seconds=seconds))
    return _in_force(model, entries)


def _fault(status: int, seconds: int | None) -> "Fault":
    from local.provider.faults import Fault, FaultKind

    kinds = {
        401: FaultKind.UNAUTHORIZED,
        404: FaultKind.UNKNOWN_MODEL,
        429: FaultKind.RATE_LIMITED,
    }
    if status in kinds:
        return Fault(kinds[status], for_seconds=seconds)
    return Fault(FaultKind.SERVER_ERROR, status=status, for_seconds=seconds)


def parts_here() -> "tuple[Provider, IndexFault]":
    """Find provider and index of the stack that runs here."""
    from local import background
    from local.engines.opensearch import OpenSearch
    from local.engines.records import read_record
    from local.index_fault import IndexFault
    from ops.demo.provider import Provider
    from ops.stack import not_running

    found = background.find_any()
    record = read_record(found[0] / background.ENGINES) if found else None
    if found is None or record is None:
        raise UsageError(not_running())
    folder, running = found
    [url] = [engine.url for engine in record.engines if engine.name == OpenSearch.name]
    return Provider(running.model_origin), IndexFault(folder, url)


def _in_force(model: "Provider", entries: "IndexFault") -> Faults:
    faults = [
        Broken(part="provider", what=_in_words(fault), left_seconds=fault.get("left_seconds"))
        for fault in model.faults()
    ]
    if entries.is_in_force:
        what = "answers 429 to everything"
        faults.append(Broken(part="index", what=what, left_seconds=entries.left_seconds))
    return Faults(faults=faults)


def _in_words(fault: dict[str, Any]) -> str:
    match fault:
        case {"kind": "poison", "marker": marker}:
            return f"rejects every text with {marker!r}"
        case {"kind": "server_error", "status": status}:
            return f"answers {status} to everything"
    answers = {"unauthorized": 401, "unknown_model": 404, "rate_limited": 429, "server_error": 500}
    status = answers.get(fault["kind"])
    return f"answers {status} to everything" if status else f"has the fault {fault['kind']}"
