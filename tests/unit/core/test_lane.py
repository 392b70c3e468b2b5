"""Lanes: how each one behaves."""

import pytest

from functions.core.failure import Part
from functions.core.lane import Lane, faster, lane_of, lanes_of, queue_name


def test_only_deletes_go_on_while_the_provider_is_down() -> None:
    """R25: a delete needs no vector; everything needs the index."""
    assert [lane for lane in Lane if not lane.needs(Part.PROVIDER)] == [Lane.DELETE]
    assert all(lane.needs(Part.INDEX) for lane in Lane)


def test_alarm_comes_sooner_for_what_a_user_waits_for() -> None:
    """R61: bulk is meant to wait."""
    assert {str(lane): lane.traits.alarm_minutes for lane in Lane} == {
        "high": 5,
        "normal": 15,
        "bulk": 360,
        "delete": 15,
        "sequential": 30,
    }


def test_batches_and_windows_are_what_lambda_takes() -> None:
    """R32: a FIFO queue gives ten at most, and has no window."""
    assert {str(lane): (lane.traits.batch_size, lane.traits.window_seconds) for lane in Lane} == {
        "high": (10, 0),
        "normal": (10, 0),
        "bulk": (200, 5),
        "delete": (100, 1),
        "sequential": (1, 0),
    }
    assert {lane for lane in Lane if lane.is_fifo} == {"high", "normal", "sequential"}


def test_bulk_alone_does_not_wait_for_the_index_to_refresh() -> None:
    """R12: a live write is found by the next search."""
    assert [lane for lane in Lane if not lane.traits.is_searchable_at_once] == [Lane.BULK]


def test_healing_waits_for_live_lanes_only() -> None:
    """R30: it never delays a user's write."""
    assert {lane for lane in Lane if lane.traits.is_live} == {"high", "normal", "sequential"}


@pytest.mark.parametrize(
    ("lane", "heals_in"),
    [
        (Lane.HIGH, Lane.BULK),
        (Lane.NORMAL, Lane.BULK),
        (Lane.BULK, Lane.BULK),
        (Lane.DELETE, Lane.DELETE),
        (Lane.SEQUENTIAL, Lane.SEQUENTIAL),
    ],
)
def test_failed_document_is_tried_again_after_live_work(lane: Lane, heals_in: Lane) -> None:
    """R30 R33: a sequential source has no other lane, and a delete needs no provider."""
    assert lane.heals_in is heals_in


@pytest.mark.parametrize(
    ("one", "other", "first"),
    [
        (Lane.BULK, Lane.HIGH, Lane.HIGH),
        (Lane.HIGH, Lane.NORMAL, Lane.HIGH),
        (Lane.DELETE, Lane.BULK, Lane.BULK),
        (Lane.SEQUENTIAL, Lane.DELETE, Lane.SEQUENTIAL),
    ],
)
def test_lane_that_is_served_first(one: Lane, other: Lane, first: Lane) -> None:
    """R32: a lane outside the priorities gives way; of two such the first stays."""
    assert faster(one, other) is first


def test_each_sequential_source_has_a_queue_of_its_own() -> None:
    """R33: the other lanes are shared by all sources."""
    names = {queue_name(lane, source): lane for lane, source in lanes_of(["chat-log", "mail"])}

    assert list(names) == [
        "high",
        "normal",
        "bulk",
        "delete",
        "sequential-chat-log",
        "sequential-mail",
    ]
    assert {queue: lane_of(queue) for queue in names} == names
    assert {source for lane, source in lanes_of(["mail"]) if lane is not Lane.SEQUENTIAL} == {""}
