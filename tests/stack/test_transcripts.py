"""Pages with answers: every command of them on a stack of its own, as a newcomer types them."""

import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.engines.java import choose_java
from scripts.transcript import FIRST_HOUR, TUTORIAL, normalised, play_first_hour, play_tutorial


@pytest.fixture(autouse=True)
def _quick_java(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start the engines for minutes, though the commands of a page start them for days."""
    # Not pytest's own folder: OpenSearch's user could not enter it.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        program = Path(name, "bin", "java")
        program.parent.mkdir()
        command = shlex.join(choose_java(short_lived=True).command)
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", name)
        yield


# Two starts and forty commands: a slow machine takes a while.
@pytest.mark.timeout(1800)
def test_first_hour_prints_what_its_page_shows() -> None:
    """R40 R81 R82: write, find, fail, break, restart; `make transcript` writes the page anew."""
    assert normalised(play_first_hour()) == normalised(FIRST_HOUR.read_text())


@pytest.mark.timeout(1800)
def test_tutorial_prints_what_its_page_shows() -> None:
    """R53 R48 R82: a stage of one's own is started, written to and searched."""
    assert normalised(play_tutorial()) == normalised(TUTORIAL.read_text())
