"""How far all documents have come."""

import pytest

from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from ops.output import as_text
from ops.statistics import LABELS, TargetStats, label


@pytest.mark.parametrize(
    ("group", "status", "name"),
    [
        (Group.OPEN, Status.PENDING, "pending"),
        (Group.OPEN, Status.PROCESSING, "processing"),
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
