"""Times and numbers as the pages write them. Pure."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ops.console.marking import marked
from ops.jobs import duration


def clock(at: datetime | float | None) -> str:
    """Write a time of day, with the date if it is another day."""
    if at is None:
        return ""
    found = _moment(at)
    is_today = found.date() == datetime.now(UTC).date()
    return found.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S")


def instant(at: datetime) -> str:
    """Write a time of day with its milliseconds."""
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def stamp(at: datetime | float | None) -> str:
    """Write a time for programs."""
    return "" if at is None else _moment(at).isoformat(timespec="milliseconds")


def ago(at: datetime | float | None) -> str:
    """Say how long ago a time is, or how far ahead."""
    if at is None:
        return ""
    seconds = (datetime.now(UTC) - _moment(at)).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{span(seconds)} ago" if seconds > 0 else f"in {span(-seconds)}"


def span(seconds: float) -> str:
    """Write a time span with one unit."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds / 86400:.1f} days" if seconds >= 2 * 86400 else duration(seconds)


def number(value: float | None) -> str:
    """Write a number with its thousands apart, and few digits behind the point."""
    if value is None:
        return "-"
    if value == int(value) or abs(value) >= 100:
        return f"{round(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2f}"


def words(name: str) -> str:
    """Write a name of the code for people."""
    return str(name).replace("_", " ")


def _moment(at: datetime | float) -> datetime:
    return at if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)


FILTERS: dict[str, Callable[..., Any]] = {
    "clock": clock,
    "instant": instant,
    "stamp": stamp,
    "ago": ago,
    "span": span,
    "number": number,
    "words": words,
    "marked": marked,
}
