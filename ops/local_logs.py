"""The log lines of the functions that run on this machine, in the order of their times."""

import heapq
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from local.log_lines import LoggedLine, lines_of

__all__ = ["LoggedLine", "log_files", "log_lines"]

START = datetime.fromtimestamp(0, UTC)  # before all others: lines without any time


def log_lines(
    folder: Path | None = None, *, function: str = "", skip: dict[str, int] | None = None
) -> Iterator[LoggedLine]:
    """Yield the lines of all functions with this in their names, the oldest first.

    `skip` has the number of lines of each function that were seen; it is raised.
    """
    seen = {} if skip is None else skip
    paths = [path for path in log_files(folder) if function in path.stem]
    parts = [_of_file(path, seen) for path in paths]
    return heapq.merge(*parts, key=lambda line: line.at or START)


def log_files(folder: Path | None = None) -> list[Path]:
    """Return the files of the stack that runs here, or of the one that ran last."""
    from local import background

    if folder is None:
        found = background.find_any()
        newest = max(background.folders(), key=lambda path: path.stat().st_mtime, default=None)
        folder = found[0] if found else newest or background.FOLDER
    return sorted((folder / "runner" / "logs").glob("*.log"))


def _of_file(path: Path, seen: dict[str, int]) -> list[LoggedLine]:
    lines = lines_of(path, seen.get(path.stem, 0))
    seen[path.stem] = seen.get(path.stem, 0) + len(lines)
    return lines
