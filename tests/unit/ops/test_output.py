"""What a terminal is given: texts of documents and providers cannot command it; none is cut."""

import sys
from collections.abc import Iterable
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from ops.output import Answer, CommandError, as_text, say, show, table

# Clears the screen, and names the window.
HOSTILE = "a\x1b[2J\x1b]0;b\x07\x9bc"
SHOWN = r"a\x1b[2J\x1b]0;b\x07\x9bc"


class Hostile(Answer):
    """An answer with an id that somebody else has chosen."""

    def view(self) -> Iterable[Any]:
        return [HOSTILE, table(["document"], [[HOSTILE]])]


def test_control_characters_are_shown_and_not_sent(capsys: pytest.CaptureFixture[str]) -> None:
    """R40: in lines, in tables, in errors and beside the answer."""
    say(HOSTILE)
    CommandError(HOSTILE).show()

    printed = as_text(Hostile()) + capsys.readouterr().err

    assert printed.count(SHOWN) == 4
    assert "\x1b" not in printed


def test_narrow_terminal_shows_the_whole_of_an_id() -> None:
    """R40: two ids that begin alike are told apart, and a job can be named."""
    id_ = "https://example.com/articles/of-the-year-2026/the-second-one"
    console = Console(file=StringIO(), width=40)

    with console.capture() as captured:
        console.print(table(["document", "status"], [[id_, "failed"]]))

    header, *lines = captured.get().splitlines()
    width = header.index("status")
    assert "".join(line[:width].strip() for line in lines) == id_


def test_characters_that_end_a_line_are_shown() -> None:
    """R40: no id makes a row of its own."""

    class Split(Answer):
        def view(self) -> Iterable[Any]:
            return [table(["document"], [["a\u2028b\u2029c"]])]

    assert as_text(Split()).splitlines()[1:] == [r"a\u2028b\u2029c"]


def test_answer_without_a_stdout_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """R40: `embedq recover --yes >&-`, as a cron job may have it."""
    monkeypatch.setattr(sys, "stdout", None)

    show(Hostile(), as_json=False)
