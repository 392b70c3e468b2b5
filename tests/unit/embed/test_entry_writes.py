"""What the index answers to a write decides how the task ends."""

from collections.abc import Collection, Sequence

import pytest

from functions.core.entry import Entry, StoredEntry, Tombstone, WriteResult, Written
from functions.core.failure import Failure, FailureKind
from functions.core.identity import EntryId
from functions.core.lane import Lane
from functions.embed.ending import Ending, Failed, Indexed, Removed, Superseded
from functions.embed.entry_writes import write_entries
from functions.embed.job import Job
from local.memory.index import MemoryIndex
from tests.builders import NOW_MS, make_message, make_row, make_task
from tests.contract.index_engines import entry, tombstone, vector

BUSY = Failure(FailureKind.INDEX_BUSY, "429")


class AnsweringIndex(MemoryIndex):
    """Answers every write in the same way, and holds one entry."""

    def __init__(self, result: WriteResult, stored: StoredEntry | None = None) -> None:
        super().__init__(4)
        self._result = result
        self._stored = stored
        self.searchable_now: bool | None = None

    def write(
        self, entries: Sequence[Entry | Tombstone], *, searchable_now: bool
    ) -> dict[EntryId, WriteResult]:
        self.searchable_now = searchable_now
        return {one.entry_id: self._result for one in entries}

    def read(
        self, ids: Sequence[EntryId], *, hashes: Collection[str] = ()
    ) -> dict[EntryId, StoredEntry]:
        assert not hashes, "no vector is needed to tell who won"
        return {} if self._stored is None else {ids[0]: self._stored}


def job(lane: Lane = Lane.NORMAL) -> Job:
    task = make_task(lane=lane)
    return Job(make_message(task), task, make_row())


def end(index: AnsweringIndex, one: Entry | Tombstone, lane: Lane = Lane.NORMAL) -> Ending:
    work = job(lane)
    [ending] = write_entries(index, [(work, one)], tokens={work.key: 7}).values()
    return ending


def test_written_entry_is_indexed_with_its_cost() -> None:
    """R28: chunks, those that failed, and tokens."""
    written = entry("a", vector(1, 0, 0, 0), vector(0, 1, 0, 0), chunks_failed=1)

    ending = end(AnsweringIndex(Written.WRITTEN), written)

    assert ending == Indexed(written.content_hash, 2, 1, 7)


def test_written_tombstone_removes() -> None:
    """R07: with the reason of a skipped document."""
    stone = tombstone("a", reason="skipped")

    ending = end(AnsweringIndex(Written.WRITTEN), stone)

    assert ending == Removed("skipped", stone.content_hash)


def test_refused_entry_fails_with_its_hash() -> None:
    """R22: the same text again is known to have failed."""
    ending = end(AnsweringIndex(BUSY), entry("a"))

    assert ending == Failed(BUSY, "hash of a")


@pytest.mark.parametrize(
    ("stored", "ending"),
    [
        (None, Superseded()),
        (StoredEntry(NOW_MS + 1, False, "newer"), Superseded()),
        (StoredEntry(NOW_MS, True, "h", reason="skipped"), Removed("skipped", "h")),
        (StoredEntry(NOW_MS, False, "h", chunks=3, chunks_failed=2), Indexed("h", 3, 2)),
    ],
    ids=["gone", "newer", "tombstone of a crashed run", "entry of a crashed run"],
)
def test_conflict_is_read_before_it_is_judged(stored: StoredEntry | None, ending: Ending) -> None:
    """R31: a crashed run has written this version, or another one was faster."""
    assert end(AnsweringIndex(Written.CONFLICT, stored), entry("a")) == ending


@pytest.mark.parametrize(("lane", "at_once"), [(Lane.NORMAL, True), (Lane.BULK, False)])
def test_only_live_writes_wait_for_the_refresh(lane: Lane, at_once: bool) -> None:
    """R12: the next search finds a live write."""
    index = AnsweringIndex(Written.WRITTEN)

    end(index, entry("a"), lane)

    assert index.searchable_now is at_once


def test_nothing_to_write_asks_nothing() -> None:
    """R12: an index that is down does not matter then."""
    index = AnsweringIndex(BUSY)

    assert write_entries(index, [], tokens={}) == {}
    assert index.searchable_now is None
