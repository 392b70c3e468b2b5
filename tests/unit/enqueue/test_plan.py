"""The decision table of versions, row by row."""

from typing import Any

import pytest

from functions.core.document import Document, Unusable, content_hash
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.enqueue.plan import ChangeResult, Plan, choose_lane, plan_change
from tests.builders import NOW_MS, make_change, make_position, make_row, make_source, make_target

HELLO = content_hash(Document("hello", "document"), make_target())


def plan(row: LedgerRow | None, now_ms: int = NOW_MS, **change: Any) -> Plan:
    return plan_change(
        make_change(**change),
        row,
        source=make_source(),
        target=make_target(),
        index_uuid="index-1",
        now_ms=now_ms,
        trace_id="",
    )


def accepted(row: LedgerRow | None, **change: Any) -> LedgerRow:
    following = plan(row, **change).row
    assert following is not None
    return following


def test_first_change_takes_the_clock_as_version() -> None:
    """R04: the clock part puts a row that expired and came back above the index's version."""
    decision = plan(None)

    assert (decision.result, decision.sends) == (ChangeResult.ACCEPTED, True)
    assert (accepted(None).task.version, accepted(None).revision) == (NOW_MS, 0)


@pytest.mark.parametrize(
    ("status", "lane"), [(Status.PENDING, Lane.HIGH), (Status.COMPLETED, Lane.NORMAL)]
)
def test_version_that_replaces_one_on_its_way_stays_in_the_faster_lane(
    status: Status, lane: Lane
) -> None:
    """R32: it must not fall behind it; one that is done does not matter."""
    row = make_row(status=status, lane=Lane.HIGH)

    assert accepted(row, priority="normal").task.lane is lane


def test_version_grows_within_one_millisecond() -> None:
    """R04: A -> B -> A within a millisecond is three versions."""
    assert accepted(make_row(version=NOW_MS + 5)).task.version == NOW_MS + 6


@pytest.mark.parametrize(
    ("position", "status", "outcome", "sends"),
    [
        (make_position(49), Status.COMPLETED, ChangeResult.STALE, False),
        (make_position(9), Status.PENDING, ChangeResult.STALE, False),
        (make_position(50), Status.PENDING, ChangeResult.REPEATED, True),
        (make_position(50), Status.PROCESSING, ChangeResult.REPEATED, False),
        (make_position(50), Status.COMPLETED, ChangeResult.REPEATED, False),
        (make_position(51), Status.PENDING, ChangeResult.ACCEPTED, True),
        (make_position(51), Status.PROCESSING, ChangeResult.ACCEPTED, True),
        (make_position(100), Status.COMPLETED, ChangeResult.ACCEPTED, True),
        (make_position(1, stream="later"), Status.COMPLETED, ChangeResult.ACCEPTED, True),
    ],
    ids=[
        "older than done",
        "shorter number is older",
        "repeated and owed",
        "repeated in work",
        "repeated and done",
        "newer than pending",
        "newer than in work",
        "longer number is newer",
        "another stream is newer",
    ],
)
def test_place_in_the_stream_decides(
    position: Any, status: Status, outcome: ChangeResult, sends: bool
) -> None:
    """R04 R05: stale records are dropped, repeated ones make no second task."""
    decision = plan(make_row(status=status), position=position)

    assert (decision.result, decision.sends) == (outcome, sends)


@pytest.mark.parametrize(
    ("status", "row_hash", "outcome"),
    [
        (Status.COMPLETED, HELLO, ChangeResult.UNCHANGED),
        (Status.COMPLETED, "other", ChangeResult.ACCEPTED),
        (Status.PENDING, HELLO, ChangeResult.ACCEPTED),
        (Status.PROCESSING, HELLO, ChangeResult.ACCEPTED),
        (Status.FAILED, HELLO, ChangeResult.UNCHANGED),
        (Status.FAILED_MAX_RETRIES, HELLO, ChangeResult.ACCEPTED),
        (Status.DELETED, HELLO, ChangeResult.ACCEPTED),
        (Status.PARTIALLY_COMPLETED, HELLO, ChangeResult.UNCHANGED),
    ],
)
def test_unchanged_is_asked_of_closed_rows_only(
    status: Status, row_hash: str, outcome: ChangeResult
) -> None:
    """R06: an open row may still be about to write something else."""
    decision = plan(make_row(status=status, content_hash=row_hash, index_uuid="index-1"))

    assert decision.result is outcome


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.PARTIALLY_COMPLETED])
@pytest.mark.parametrize("index_uuid", ["", "index-0"])
def test_what_was_written_to_another_index_is_not_unchanged(
    status: Status, index_uuid: str
) -> None:
    """R06 R12: the index was lost, and an item that is written again must come back."""
    row = make_row(status=status, content_hash=HELLO, index_uuid=index_uuid)

    assert plan(row).result is ChangeResult.ACCEPTED


def test_new_key_of_an_unchanged_document_is_taken() -> None:
    """R02: its table was replaced; a requeue reads the item by the row's key."""
    row = make_row(status=Status.COMPLETED, content_hash=HELLO, index_uuid="index-1")

    assert accepted(row, key={"pk": {"S": "a"}}).task.key == {"pk": {"S": "a"}}


def test_skipped_document_touched_again_stays_skipped() -> None:
    """R06: the same reason again is nothing new."""
    content = Unusable("the text is empty")
    row = make_row(status=Status.SKIPPED, content_hash=content_hash(content, make_target()))

    assert plan(row, content=content).result is ChangeResult.UNCHANGED


def test_stream_of_keys_only_always_makes_a_version() -> None:
    """R02: without an image nothing can be called unchanged."""
    row = make_row(status=Status.COMPLETED, content_hash=HELLO)

    assert plan(row, content=None).result is ChangeResult.ACCEPTED


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(Status.DELETED, ChangeResult.UNCHANGED), (Status.COMPLETED, ChangeResult.ACCEPTED)],
)
def test_delete_of_a_deleted_document_is_nothing_new(status: Status, outcome: ChangeResult) -> None:
    """R07: put and removed within one batch needs no second tombstone."""
    assert plan(make_row(status=status), removed=True, content=None).result is outcome


def test_new_version_starts_anew() -> None:
    """R28: attempts, reasons and the time to live belong to the change before; history stays."""
    row = make_row(
        status=Status.FAILED,
        attempts=5,
        failed_ms=1,
        reason="bad",
        expires_at=9,
        content_hash="old",
        next_attempt_ms=7,
    )

    fresh = accepted(row)

    assert (fresh.status, fresh.progress.attempts, fresh.outcome.failed_ms) == (
        Status.PENDING,
        0,
        None,
    )
    assert (fresh.outcome.reason, fresh.outcome.expires_at, fresh.outcome.content_hash) == (
        None,
        None,
        None,
    )
    assert (fresh.progress.next_attempt_ms, fresh.created_ms) == (None, row.created_ms)


@pytest.mark.parametrize(
    ("change", "source", "open_lane", "lane"),
    [
        ({}, {}, None, Lane.NORMAL),
        ({"priority": "high"}, {}, None, Lane.HIGH),
        ({"priority": "bulk"}, {}, None, Lane.BULK),
        ({"priority": " Low "}, {}, None, Lane.BULK),
        ({"priority": "urgent!"}, {}, None, Lane.NORMAL),
        ({"priority": "delete"}, {}, None, Lane.NORMAL),
        ({"priority": "bulk"}, {}, Lane.HIGH, Lane.HIGH),
        ({}, {}, Lane.BULK, Lane.NORMAL),
        ({}, {}, Lane.DELETE, Lane.NORMAL),
        ({"removed": True, "content": None}, {}, Lane.HIGH, Lane.DELETE),
        ({"content": Unusable("empty")}, {}, None, Lane.DELETE),
        ({"removed": True}, {"ordering": "sequential"}, None, Lane.SEQUENTIAL),
        ({"priority": "high"}, {"ordering": "sequential"}, None, Lane.SEQUENTIAL),
    ],
)
def test_lane_of_a_change(
    change: dict[str, Any], source: dict[str, Any], open_lane: Lane | None, lane: Lane
) -> None:
    """R15 R32 R33: deletes and sequential sources have lanes of their own; priority picks."""
    assert choose_lane(make_change(**change), make_source(**source), open_lane) is lane
