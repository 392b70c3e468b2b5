"""How far all documents have come."""

from datetime import UTC, datetime, timedelta

import pytest

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from ops.deployment import Deployment
from ops.measured import NoFigures
from ops.output import CommandError, as_text
from ops.statistics import LABELS, LastHour, Stats, TargetStats, done_by, label, stats


@pytest.mark.parametrize(
    ("group", "status", "name"),
    [
        (Group.OPEN, Status.PENDING, "pending"),
        (Group.OPEN, Status.PROCESSING, "pending"),
        (Group.PARKED, Status.PENDING, "parked"),
        (Group.OVER_BUDGET, Status.PENDING, "over_budget"),
        (Group.HEALING, Status.FAILED, "healing"),
        (Group.FAILED, Status.FAILED, "failed"),
        (Group.FAILED, Status.FAILED_MAX_RETRIES, "failed"),
        (Group.FAILED, Status.PARTIALLY_COMPLETED, "partial"),
    ],
)
def test_each_document_is_counted_in_one_line(group: Group, status: Status, name: str) -> None:
    """R40: what it waits for, in an operator's words."""
    assert label(Listed(RowKey("default/articles/a"), status, Lane.NORMAL, 0, group)) == name


@pytest.mark.parametrize(
    ("counts", "searchable", "line"),
    [
        ({}, 0, "100 %, 0 open"),
        ({"pending": 1}, 3, "75 %, 1 open"),
        ({"failed": 2}, 1, "100 %, 0 open"),
        ({"healing": 1}, 1, "50 %, 1 open"),
        ({"parked": 1, "processing": 1}, 999, "99 %, 2 open"),
    ],
)
def test_progress_reaches_the_end_whatever_fails(
    counts: dict[str, int], searchable: int, line: str
) -> None:
    """R27: a failed document has ended; 100 % is said only when nothing is open."""
    shown = TargetStats(target="t", searchable=searchable, counts=dict.fromkeys(LABELS, 0) | counts)

    assert as_text(shown).splitlines()[0] == f"target t: {line}"


@pytest.mark.parametrize(
    ("open_documents", "per_hour", "hours"),
    [(0, 10, None), (10, 0, None), (10, 20, 0.5), (30, 10, 3), (10**9, 1, 24 * 365)],
)
def test_end_of_the_backlog_follows_from_the_last_hour(
    open_documents: int, per_hour: int, hours: float | None
) -> None:
    """R40: nothing is said where nobody knows, and no time beyond a year."""
    now = datetime(2026, 1, 1, tzinfo=UTC)

    found = done_by(open_documents, per_hour, now)

    assert found == (None if hours is None else now + timedelta(hours=hours))


def test_end_of_the_backlog_of_a_stopped_target_is_not_known() -> None:
    """R40: the last hour says nothing about the time until a breaker closes."""
    assert done_by(10, 20, datetime(2026, 1, 1, tzinfo=UTC), is_stopped=True) is None


class BusyIndex:
    """An index that answers nobody."""

    def call(self, *_: object, **__: object) -> None:
        raise FailureError(Failure(FailureKind.INDEX_BUSY, "OpenSearch answered 429"))


def test_index_that_does_not_answer_is_named_with_what_can_be_asked(deployment: Deployment) -> None:
    """R40: at night, the half that can be seen is found at once."""
    vars(deployment)["index"] = BusyIndex()

    with pytest.raises(CommandError) as caught:
        stats(deployment)

    assert caught.value.message == (
        "the index was not counted: index_busy: OpenSearch answered 429; `embedq health`,"
        " `embedq lanes`, `embedq breakers`, `embedq dead causes` go without it"
    )


def test_targets_are_parted_by_an_empty_line() -> None:
    """R40: the lanes of one end, and the next one begins."""
    one = TargetStats(target="a", searchable=0, counts=dict.fromkeys(LABELS, 0))
    measured = NoFigures(reason="nothing was written yet")

    lines = as_text(
        Stats(targets=(one, one.model_copy(update={"target": "b"})), measured=measured)
    ).splitlines()

    assert lines[lines.index("target b: 100 %, 0 open") - 1] == ""


def test_pace_is_said_before_the_table() -> None:
    """R40: the oldest, the last hour and the end."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    shown = TargetStats(
        target="t",
        searchable=3,
        counts=dict.fromkeys(LABELS, 0) | {"pending": 2},
        unique=5,
        oldest_waiting=at,
        last_hour=LastHour(indexed=4, deleted=1, failed=2),
        done_by=at,
    )

    lines = as_text(shown).splitlines()

    assert lines[1:4] == [
        "the oldest waits since 2026-01-01 00:00:00 UTC",
        "last hour: 4 indexed, 1 deleted or skipped, 2 failed",
        "at this speed all is done by 2026-01-01 00:00:00 UTC",
    ]
    assert lines[-1].split()[:2] == ["unique", "5"]
