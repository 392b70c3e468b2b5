"""The metrics that count a row, by its group and its times."""

import pytest

from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from functions.sweep.census import Census, metrics_of
from tests.builders import NOW_MS
from tests.unit.sweep.world import DAY_MS, World

STUCK_MS = NOW_MS - 1000
PARKED, HEALING, FAILED = "ParkedDocuments", "HealingDocuments", "FailedDocuments"
STUCK, BACKOFF = "StuckDocuments", "TasksSkippedByBackoff"


@pytest.mark.parametrize(
    ("group", "status", "due_ms", "metrics"),
    [
        (Group.OPEN, Status.PENDING, STUCK_MS, [STUCK]),
        (Group.OPEN, Status.PENDING, STUCK_MS + 1, []),
        (Group.OPEN, Status.PENDING, NOW_MS + 1, []),
        (Group.PARKED, Status.PENDING, NOW_MS, [PARKED]),
        (Group.PARKED, Status.PENDING, NOW_MS + 1, [PARKED, BACKOFF]),
        (Group.PARKED, Status.PENDING, STUCK_MS, [PARKED, STUCK]),
        (Group.HEALING, Status.FAILED, NOW_MS, [HEALING]),
        (Group.HEALING, Status.FAILED, NOW_MS + 1, [HEALING, BACKOFF]),
        (Group.FAILED, Status.FAILED, NOW_MS + 1, [FAILED]),
        (Group.FAILED, Status.PARTIALLY_COMPLETED, NOW_MS, []),
    ],
)
def test_row_is_counted_by_group_and_time(
    group: Group, status: Status, due_ms: int, metrics: list[str]
) -> None:
    """R61: what waits for its time is not stuck, and what is partly searchable has not failed."""
    listed = Listed(RowKey("default/articles/a"), status, Lane.NORMAL, due_ms, group)

    found = metrics_of(listed, group, now_ms=NOW_MS, stuck_ms=STUCK_MS)

    assert list(found) == metrics


@pytest.mark.parametrize(("last", "parked"), [(0.5, 2), (0.0, 0)])
def test_count_takes_no_time_for_open_rows_of_today(world: World, last: float, parked: int) -> None:
    """R60: a busy stage has a million of them; a count that time cuts off is not published."""
    for name in "ab":
        world.park(f"parked {name}")
        world.put(f"open {name}", queued_ms=world.clock())
    left = iter([30.0, last])

    deployed = [("default", "articles")]
    Census(world.ledger, world.telemetry, world.clock, 24.0, deployed).run(lambda: next(left, 0.0))

    assert world.telemetry.metrics[PARKED] == parked


def test_failed_documents_are_counted_by_their_source(world: World) -> None:
    """R60: the alarm counts all, the dashboard shows where they come from, and the oldest."""
    for name in "abc":
        world.put(name, status=Status.FAILED, queued_ms=world.clock())
        world.clock.advance(1800)
    deployed = [("default", "articles"), ("default", "messages")]

    Census(world.ledger, world.telemetry, world.clock, 24.0, deployed).run(lambda: 30.0)

    assert world.telemetry.details[FAILED, "articles"] == 3
    assert world.telemetry.details[FAILED, "messages"] == 0
    assert world.telemetry.metrics[FAILED] == 3
    assert world.telemetry.metrics["OldestFailedSeconds"] == 3 * 1800
    assert world.telemetry.metrics["OldestStuckSeconds"] == 0


def test_row_in_work_is_not_stuck_however_long_it_has_waited(world: World) -> None:
    """R60: the sparse index has the time when it was queued; its row knows that a run has it."""
    now_ms = world.clock()
    old = {"queued_ms": now_ms - 3 * DAY_MS, "status": Status.PROCESSING}
    world.put("in work", last_attempt_ms=now_ms - 1000, **old)
    world.put("dead run", last_attempt_ms=now_ms - 2 * DAY_MS, **old)

    Census(world.ledger, world.telemetry, world.clock, 24.0, [("default", "articles")]).run(
        lambda: 30.0
    )

    assert world.telemetry.metrics[STUCK] == 1
    assert world.telemetry.metrics["OldestStuckSeconds"] == 2 * DAY_MS / 1000
