"""When a document that is owed gets a new version, as a table."""

from typing import Any

import pytest

from functions.core.change import NOWHERE, Operation
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Quarantine, Status
from functions.core.owing import Owed, OweResult, owing_lane, plan_owed
from functions.core.settings import Ordering
from tests.builders import NOW_MS, make_position, make_row, make_source

KEY = {"id": {"S": "a"}}
OWED = Owed(DocumentId("a"), KEY, Lane.BULK)
SINCE = NOW_MS - 1000


def plan(row: LedgerRow | None, owed: Owed = OWED) -> Any:
    return plan_owed(
        owed, row, target="default", source="articles", since_ms=SINCE, now_ms=NOW_MS + 5
    )


def bulk(**changes: Any) -> LedgerRow:
    return make_row(lane=Lane.BULK, **changes)


@pytest.mark.parametrize(
    ("row", "result"),
    [
        (None, OweResult.OWED),
        *((make_row(status=status), OweResult.OWED) for status in Status if not status.is_open),
        (make_row(), OweResult.ON_ITS_WAY),
        (bulk(status=Status.PROCESSING), OweResult.ON_ITS_WAY),
        (bulk(), OweResult.AGAIN),
        (bulk(queued_ms=SINCE), OweResult.AGAIN),
        (bulk(queued_ms=SINCE - 1), OweResult.ON_ITS_WAY),
        (bulk(last_attempt_ms=NOW_MS), OweResult.ON_ITS_WAY),
        (bulk(parked=True), OweResult.ON_ITS_WAY),
        (bulk(sent=False), OweResult.ON_ITS_WAY),
    ],
)
def test_only_absent_and_closed_rows_get_a_version(
    row: LedgerRow | None, result: OweResult
) -> None:
    """R43: what a crashed run may have left without a message is sent once more as it is."""
    found = plan(row)

    assert found.result is result
    assert (found.row is not None) is (result is OweResult.OWED)
    assert found.sends is (result is not OweResult.ON_ITS_WAY)


def test_new_row_is_below_every_position_of_a_stream() -> None:
    """R43: the first change that comes is newer."""
    row = plan(None).row

    assert (row.position, row.task.version, row.task.lane) == (NOWHERE, NOW_MS + 5, Lane.BULK)
    assert (row.written_ms, row.task.key, row.status) == (0, KEY, Status.PENDING)


@pytest.mark.parametrize(
    ("lane", "operation"),
    [(Lane.BULK, Operation.UPSERT), (Lane.DELETE, Operation.DELETE)],
)
def test_lane_says_what_is_done_to_the_entry(lane: Lane, operation: Operation) -> None:
    """R45: what no item asks for is removed; no trace of a write belongs to it."""
    row = plan(None, Owed(DocumentId("a"), KEY, lane)).row

    assert (row.operation, row.task.trace_id) == (operation, "")


def test_closed_row_keeps_its_position_and_starts_its_attempts_again() -> None:
    """R43: changes that were seen before stay seen; its history stays."""
    failed = make_row(
        status=Status.FAILED,
        position=make_position(77),
        attempts=5,
        quarantine=Quarantine.GROUP,
        type="article",
        expires_at=1,
    )

    row = plan(failed).row

    assert (row.position, row.progress.attempts, row.type) == (make_position(77), 0, "article")
    assert (row.outcome.expires_at, row.revision) == (None, failed.revision)
    assert row.progress.quarantine is Quarantine.GROUP


def test_version_is_above_what_the_index_holds() -> None:
    """R45: an entry from the future, or of a row that is gone, is replaced all the same."""
    ahead = Owed(DocumentId("a"), KEY, Lane.DELETE, above_version=NOW_MS * 2)

    assert plan(None, ahead).row.task.version == NOW_MS * 2 + 1


@pytest.mark.parametrize(
    ("ordering", "is_gone", "lane"),
    [
        (Ordering.PARALLEL, False, Lane.BULK),
        (Ordering.PARALLEL, True, Lane.DELETE),
        (Ordering.SEQUENTIAL, False, Lane.SEQUENTIAL),
        (Ordering.SEQUENTIAL, True, Lane.SEQUENTIAL),
    ],
)
def test_no_live_lane_is_used(ordering: Ordering, is_gone: bool, lane: Lane) -> None:
    """R43: bulk, or delete; a sequential source has one lane only."""
    assert owing_lane(make_source(ordering=ordering), is_gone=is_gone) is lane
