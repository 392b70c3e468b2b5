"""A download shows itself: bytes and files add up over tries, in lines or in a bar."""

import io
import re
import sys

import pytest

from local.engines import progress
from local.engines.progress import BarProgress, LineProgress, fetch_progress


def test_lines_tell_the_beginning_the_way_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """R82: progress without a terminal is plain lines."""
    monkeypatch.setattr(progress, "LINE_EACH_SECONDS", 0.0)
    lines: list[str] = []
    shown = LineProgress(lines.append)

    with shown.fetching(2):
        shown.add(received=7_000_000)
        shown.add(files=1)

    assert lines[:3] == [
        "fetching 2 engine files (all are 250 MB, once per user)",
        "fetched 0 of 2 files, 7 MB",
        "fetched 1 of 2 files, 7 MB",
    ]
    assert re.fullmatch(r"fetched 7 MB in 0\.\d s", lines[3])


def test_lines_come_only_now_and_then() -> None:
    """R82: a hundred small files are not a hundred lines."""
    lines: list[str] = []
    shown = LineProgress(lines.append)

    with shown.fetching(100):
        for _ in range(100):
            shown.add(files=1)

    assert len(lines) == 2


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """R82: progress bar on a terminal; what did not come is no longer expected."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    shown = fetch_progress(print)

    assert isinstance(shown, BarProgress)
    with shown.fetching(1):
        shown.add(expected=10_000_000)
        shown.add(received=4_000_000)
        shown.add(expected=-6_000_000)
        shown.add(files=1)
    assert "fetching engines, 1 of 1 files" in terminal.getvalue()
    assert "4.0/4.0 MB" in terminal.getvalue()


def test_a_pipe_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """R82: no control characters in a log."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    assert isinstance(fetch_progress(print), LineProgress)
