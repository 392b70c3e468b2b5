"""Pages with answers: every command of them on a stack of its own, as a newcomer types them."""

import pytest

from scripts.transcript import FIRST_HOUR, TUTORIAL, normalised, play_first_hour, play_tutorial


# Two starts and forty commands: a slow machine takes a while.
@pytest.mark.timeout(1800)
def test_first_hour_prints_what_its_page_shows() -> None:
    """R40 R81 R82: write, find, fail, break, restart; `make transcript` writes the page anew."""
    assert normalised(play_first_hour()) == normalised(FIRST_HOUR.read_text())


@pytest.mark.timeout(1800)
def test_tutorial_prints_what_its_page_shows() -> None:
    """R53 R48 R82: a stage of one's own is started, written to and searched."""
    assert normalised(play_tutorial()) == normalised(TUTORIAL.read_text())
