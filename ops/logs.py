"""What the functions of the stack on this machine have logged."""

import json
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from functions.adapters.log_times import parsed
from ops.frame import Noun
from ops.output import Answer, UsageError
from ops.selection import Moment

if TYPE_CHECKING:
    from ops.local_logs import LoggedLine

LOOK_SECONDS = 0.3
NOUN = Noun("Stack on this machine")
# Said before the fields of a line, or of no use here.
ALREADY_SHOWN = (
    "message",
    "timestamp",
    "service",
    "level",
    "location",
    "trace_id",
    "xray_trace_id",
)


class LogLine(Answer):
    """One line of a function's log."""

    function: str
    at: datetime | None  # None: neither this line nor one before it has a time
    line: dict[str, Any] | str  # the object that it holds; a line that is no JSON as it is

    def view(self) -> Iterable[str]:
        if isinstance(self.line, str):
            return [self.line]
        if "message" not in self.line:
            return [json.dumps(self.line)]
        fields = " ".join(f"{k}={v}" for k, v in self.line.items() if k not in ALREADY_SHOWN)
        at = f"{self.at:%Y-%m-%d %H:%M:%S}.{self.at.microsecond // 1000:03} " if self.at else ""
        where = self.line.get("service", self.function)
        return [f"{at}{where} {self.line['message']} {fields}".rstrip()]


@NOUN.command(
    click.Argument(["function"], required=False, help="A part of the function's name."),
    click.Option(["--follow"], is_flag=True, help="Go on with new lines until Ctrl-C."),
    click.Option(["--since"], type=Moment(), metavar="TIME", help="Only since then: 10m, 2h."),
    click.Option(["--document"], metavar="ID", help="Only lines about this document."),
    click.Option(["--metrics"], is_flag=True, help="The lines with metrics, too."),
    examples=["logs", "logs embed --follow", "logs --since 10m --document tortoise-and-hare"],
)
def logs(
    function: str | None,
    *,
    follow: bool,
    since: datetime | None,
    document: str | None,
    metrics: bool,
) -> Iterator[LogLine]:
    """Show what the functions of the stack on this machine have logged, by time."""
    from ops.local_logs import log_files, log_lines

    seen: dict[str, int] = {}
    if not follow and not any((function or "") in path.stem for path in log_files()):
        which = f" with {function!r} in its name" if function else ""
        raise UsageError(f"no function{which} has logged anything here yet: is the stack up?")
    while True:
        for one in log_lines(function=function or "", skip=seen):
            if (metrics or not one.is_metrics) and _is_wanted(one, since, document):
                fields = parsed(one.line)
                yield LogLine(function=one.function, at=one.at, line=dict(fields) or one.line)
        if not follow:
            return
        time.sleep(LOOK_SECONDS)


def _is_wanted(one: "LoggedLine", since: datetime | None, document: str | None) -> bool:
    is_late = since is None or (one.at is not None and one.at >= since)
    return is_late and (document is None or parsed(one.line).get("document_id") == document)
