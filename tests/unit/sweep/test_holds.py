"""What holds a row back: the limits of each rule."""

from collections import Counter

import pytest

from functions.core.breaker import Breaker
from functions.core.control import Control
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from functions.sweep.holds import (
    MAX_WAITING,
    QUIET_WAITING,
    RELEASED_MS,
    RETENTION_MS,
    Hold,
    Situation,
    stuck_rule,
)
from tests.builders import NOW_MS


def situation(**waiting: int) -> Situation:
    return Situation(Control(), Counter(waiting), NOW_MS)


@pytest.mark.parametrize(("waiting", "found"), [(MAX_WAITING, False), (MAX_WAITING + 1, True)])
def test_backlog_begins_above_a_thousand(waiting: int, found: bool) -> None:
    """R29: up to it, a lane is only busy; one without a count has none."""
    assert situation(bulk=waiting).has_backlog(Lane.BULK, "articles") is found
    assert not situation(bulk=waiting).has_backlog(Lane.NORMAL, "articles")


def test_target_without_settings_has_no_budget() -> None:
    """R19: nothing is held back for it."""
    assert not situation().is_over_budget(Lane.NORMAL)


@pytest.mark.parametrize(("waiting", "quiet"), [(QUIET_WAITING, True), (QUIET_WAITING + 1, False)])
def test_one_batch_in_the_live_lanes_is_quiet(waiting: int, quiet: bool) -> None:
    """R30: of all live lanes together; bulk and deletes do not count."""
    assert situation(high=1, normal=waiting - 1, bulk=5000, delete=5000).is_quiet is quiet


@pytest.mark.parametrize(
    ("settled_ms", "due_ms", "hold"),
    [
        (RELEASED_MS - 1, RETENTION_MS - 1, Hold.RELEASED),
        (RELEASED_MS, RETENTION_MS - 1, None),
        (RELEASED_MS - 1, RETENTION_MS, None),
    ],
    ids=["held", "breaker closed for hours", "older than any message"],
)
def test_stuck_row_waits_for_some_hours_after_a_breaker(
    settled_ms: int, due_ms: int, hold: Hold | None
) -> None:
    """R29: unless no queue could have its message any more."""
    control = Control(index=Breaker(since_ms=NOW_MS - settled_ms))
    due_ms = NOW_MS - due_ms
    listed = Listed(RowKey("default/articles/a"), Status.PENDING, Lane.BULK, due_ms, Group.OPEN)

    assert stuck_rule(NOW_MS - RETENTION_MS)(Situation(control, Counter(), NOW_MS), listed) == hold
