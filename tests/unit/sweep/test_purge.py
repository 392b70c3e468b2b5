"""Purge: a day after a delete, its tombstone goes, and then its row."""

from collections.abc import Mapping
from typing import Any

import pytest

from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import EntryId
from functions.core.ledger_row import LedgerRow, Status
from functions.sweep.process import SweepError
from local.memory.index import MemoryIndex
from tests.builders import changed, make_target
from tests.contract.index_engines import tombstone
from tests.unit.sweep.world import DAY_MS, World


def add_tombstone(world: World, name: str, *, age_ms: int = DAY_MS, **changes: Any) -> LedgerRow:
    """Put the row and the tombstone of a deleted document."""
    at_ms = world.clock() - age_ms
    row = world.put(
        name, status=Status.DELETED, version=at_ms, queued_ms=at_ms, completed_ms=at_ms, **changes
    )
    stone = tombstone(name, version=row.task.version)
    world.indexes[row.task.target].write([stone], searchable_now=False)
    return row


def test_old_tombstone_and_its_row_are_forgotten(world: World) -> None:
    """R07: after a day no run can be late."""
    row = add_tombstone(world, "a")

    world.run("maintenance")

    assert (world.indexes["default"].entries, world.ledger.read([row.row_key])) == ({}, {})
    assert world.telemetry.metrics["TombstonesPurged"] == 1


def test_young_tombstone_stays(world: World) -> None:
    """R07: a late run still meets it."""
    row = add_tombstone(world, "a", age_ms=DAY_MS - 1)

    world.run("maintenance")

    assert world.row(row) == row
    assert len(world.indexes["default"].entries) == 1


def test_skipped_and_failed_rows_are_kept(world: World) -> None:
    """R27: their documents exist, and a person may ask why they are not found."""
    old = world.clock() - 10 * DAY_MS
    kept = [
        world.put(str(status), status=status, queued_ms=old)
        for status in (Status.SKIPPED, Status.FAILED, Status.COMPLETED)
    ]

    world.run("maintenance")

    assert [world.row(row) for row in kept] == kept


def test_newer_tombstone_keeps_its_row(world: World) -> None:
    """R07 R31: a delete that has just been written waits for its own day."""
    row = add_tombstone(world, "a")
    newer = tombstone("a", version=world.clock())
    world.indexes["default"].write([newer], searchable_now=False)

    world.run("maintenance")

    assert world.row(row) == row
    assert list(world.indexes["default"].entries.values()) == [newer]


class Returning(MemoryIndex):
    """An index in which a document comes back while its tombstone is removed."""

    def __init__(self, world: World, row: LedgerRow) -> None:
        super().__init__(16)
        self.entries = world.indexes["default"].entries
        self._world = world
        self._row = row

    def remove(self, tombstones: Mapping[EntryId, int]) -> list[EntryId]:
        gone = super().remove(tombstones)
        fresh = changed(self._row, status=Status.PENDING, version=2)
        self._world.ledger.write([fresh])
        return gone


def test_row_that_comes_back_meanwhile_is_not_removed(world: World) -> None:
    """R31: only what stands as it was read."""
    row = add_tombstone(world, "a")

    world.run("maintenance", indexes={"default": Returning(world, row)})

    assert world.row(row).status is Status.PENDING


class Down(MemoryIndex):
    """An index that does not answer."""

    def remove(self, tombstones: Mapping[EntryId, int]) -> list[EntryId]:  # noqa: ARG002
        raise FailureError(Failure(FailureKind.INDEX_UNAVAILABLE, "no answer"))


def test_index_that_is_down_stops_only_its_own_target() -> None:
    """R14: and the run ends in an error, for the alarm."""
    world = World(targets=(make_target(), make_target(name="other")))
    kept = [add_tombstone(world, f"d{number}") for number in range(3)]
    add_tombstone(world, "a", target="other")
    indexes = {"default": Down(16), "other": world.indexes["other"]}

    with pytest.raises(SweepError, match="purge: target default: index_unavailable: no answer"):
        world.run("maintenance", indexes=indexes)

    assert [world.row(row) for row in kept] == kept
    assert world.indexes["other"].entries == {}


class CountingDown(Down):
    """Counts how often it is asked."""

    asked = 0

    def remove(self, tombstones: Mapping[EntryId, int]) -> list[EntryId]:
        self.asked += 1
        return super().remove(tombstones)


def test_index_that_is_down_is_asked_once_in_a_run() -> None:
    """R14: each round would only fail again; each target has its reason in the error."""
    world = World(targets=(make_target(), make_target(name="other")))
    for number in range(250):
        add_tombstone(world, f"d{number}")
    add_tombstone(world, "a", target="other")
    indexes = {"default": CountingDown(16), "other": CountingDown(16)}

    with pytest.raises(SweepError, match="no answer; target other: index_unavailable: no answer"):
        world.run("maintenance", indexes=indexes)

    assert indexes["default"].asked == 1


def test_rows_of_a_target_that_is_gone_are_left_alone(world: World) -> None:
    """R14: without its index there is nothing to remove, and other targets go on."""
    world.indexes["former"] = MemoryIndex(16)
    kept = add_tombstone(world, "a", target="former")
    former = world.indexes.pop("former")
    add_tombstone(world, "b")

    world.run("maintenance")

    assert (world.row(kept), len(former.entries)) == (kept, 1)
    assert world.indexes["default"].entries == {}


def test_more_than_one_round_is_purged(world: World) -> None:
    """R07: a thousand deletes of one day."""
    for number in range(250):
        add_tombstone(world, f"d{number}")

    world.run("maintenance")

    assert world.indexes["default"].entries == {}
    assert world.telemetry.metrics["TombstonesPurged"] == 250
