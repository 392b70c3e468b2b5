"""A question with its figure -> lines of a table, and a record for programs. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any

HEADER = ("question", "figure", "measured against", "goal", "met")
WIDTHS = (44, 34, 40, 16, 3)
GAP = "  "


@dataclass(frozen=True)
class Row:
    """One answer: a ratio to something of the same run, or a count."""

    question: str
    value: float
    unit: str  # "x" for a ratio
    against: str
    limit: float | None = None  # None: it is only printed
    at_least: bool = False  # the goal is a lower limit
    note: str = ""  # the numbers that a ratio is made of

    @property
    def is_met(self) -> bool | None:
        """Tell whether the goal is met; None where there is none."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def of_goal(self) -> float | None:
        """Return how much of what the goal allows is used: at most 1 where it is met."""
        if self.limit is None:
            return None
        above, below = (self.limit, self.value) if self.at_least else (self.value, self.limit)
        if above == 0:
            return 0.0
        return above / below if below else float("inf")

    @property
    def figure(self) -> str:
        """Write the value with its unit, and what it is made of."""
        space = "" if self.unit in ("", "x", "%") else " "
        return f"{number(self.value)}{space}{self.unit}" + (f" ({self.note})" if self.note else "")

    @property
    def goal(self) -> str:
        """Write the goal; nothing where there is none."""
        if self.limit is None:
            return "printed"
        space = "" if self.unit in ("", "x", "%") else " "
        how = "at least" if self.at_least else "at most"
        return f"{how} {number(self.limit)}{space}{self.unit}"

    def record(self) -> dict[str, Any]:
        """Return all of it for programs."""
        return {**asdict(self), "met": self.is_met}


def number(value: float) -> str:
    """Write three digits that tell something, and no more."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    places = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{places}f}".rstrip("0").rstrip(".") or "0"


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Write the rows under each other; what is longer than its column goes on below."""
    yield _line(HEADER)
    yield GAP.join("-" * width for width in WIDTHS)
    for row in rows:
        columns = [wrap(cell, width) for cell, width in zip(_cells(row), WIDTHS, strict=True)]
        for place in range(max(map(len, columns))):
            yield _line([one[place] if place < len(one) else "" for one in columns])


def markdown(rows: Iterable[Row]) -> Iterator[str]:
    """Write the rows as a table of a page."""
    for cells in (HEADER, ["---"] * len(HEADER), *map(_cells, rows)):
        yield f"| {' | '.join(cells)} |"


def _cells(row: Row) -> tuple[str, ...]:
    met = {True: "yes", False: "NO", None: ""}[row.is_met]
    return row.question, row.figure, row.against, row.goal, met


def _line(cells: Sequence[str]) -> str:
    return GAP.join(f"{cell:{width}}" for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()
