"""What holds a row back: the limits of each rule."""

import pytest

from functions.core.control import Control
from functions.core.lane import Lane
from functions.sweep.holds import MAX_WAITING, QUIET_WAITING, Situation
from tests.builders import NOW_MS


def situation(**waiting: int) -> Situation:
    return Situation(Control(), waiting, NOW_MS)


@pytest.mark.parametrize(("waiting", "found"), [(MAX_WAITING, False), (MAX_WAITING + 1, True)])
def test_backlog_begins_above_a_thousand(waiting: int, found: bool) -> None:
    """R29: up to it, a lane is only busy; one without a count has none."""
    assert situation(bulk=waiting).has_backlog(Lane.BULK, "articles") is found
    assert not situation(bulk=waiting).has_backlog(Lane.NORMAL, "articles")


@pytest.mark.parametrize(("waiting", "quiet"), [(QUIET_WAITING, True), (QUIET_WAITING + 1, False)])
def test_one_batch_in_the_live_lanes_is_quiet(waiting: int, quiet: bool) -> None:
    """R30: of all live lanes together; bulk and deletes do not count."""
    assert situation(high=1, normal=waiting - 1, bulk=5000, delete=5000).is_quiet is quiet
