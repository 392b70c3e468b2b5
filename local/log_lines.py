"""What a function has logged on this machine: its lines with their times."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from functions.adapters.log_times import parsed, time_of

METRICS = re.compile(r'^\{"_aws"')


@dataclass(frozen=True)
class LoggedLine:
    """One line of a function."""

    function: str
    at: datetime | None  # a line without a time has that of the line before
    line: str

    @property
    def is_metrics(self) -> bool:
        return METRICS.match(self.line) is not None


def lines_of(path: Path, first: int = 0) -> list[LoggedLine]:
    """Return the lines of a function's file, from a number on."""
    lines = path.read_text(errors="replace").splitlines()
    return list(_timed(path.stem, lines[first:]))


def _timed(function: str, lines: Iterable[str]) -> Iterator[LoggedLine]:
    at = None
    for line in lines:
        found = time_of(parsed(line))
        at = max(found, at) if found and at else found or at
        yield LoggedLine(function, at, line)
