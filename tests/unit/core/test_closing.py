"""Rows that may end: the last event is that of the row that stands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from functions.core.announcement import Announcements
from functions.core.closing import announce_standing, close_rows
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import DocumentId, RowKey
from functions.core.ledger_row import LedgerRow, Status
from functions.core.ports import Swapped
from functions.core.swap import Rows
from local.memory.ledger import MemoryLedger
from local.memory.runtime import MemoryAnnouncer, MemoryTelemetry, MovableClock
from tests.builders import changed, make_row
from tests.newer_rows import NewerRows
from tests.unit.embed.steps import OvertakenLedger


@dataclass(frozen=True)
class Decision:
    row: LedgerRow | None = None
    is_refused: bool = False


REFUSED = Decision(is_refused=True)


def fail_if_open(rows: Rows) -> dict[RowKey, Decision]:
    return {
        key: Decision(changed(row, status=Status.FAILED) if row and row.status.is_open else None)
        for key, row in rows.items()
    }


class FailingLedger(MemoryLedger):
    """Fails so many writes, before the first one of them another writer was faster."""

    def __init__(self, faster: Callable[[LedgerRow], LedgerRow], failures: int = 1) -> None:
        super().__init__()
        self._faster: Callable[[LedgerRow], LedgerRow] | None = faster
        self._failures = failures

    def put(self, row: LedgerRow) -> LedgerRow:
        [stored] = super().write([row]).stored.values()
        return stored

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if self._faster is not None:
            super().write([self._faster(row) for row in self.rows.values()])
            self._faster = None
        if self._failures:
            self._failures -= 1
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "down for a moment"))
        return super().write(rows)


class TroubledLedger(NewerRows):
    """Another writer comes before its next write, and some rows cannot be written."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None
        self.fails: set[RowKey] = set()
        self.written: list[RowKey] = []

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            failing, self.fails = self.fails, set()
            meanwhile()
            self.fails |= failing
        self.written += [row.row_key for row in rows]
        failing = {row.row_key for row in rows} & self.fails
        swapped = super().write([row for row in rows if row.row_key not in failing])
        if failing:
            self.fails = set()
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, "throttled for a moment"))
        return swapped


class World:
    """A ledger in which another writer may be faster, and the events that were sent."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self.ledger = ledger
        self.announcer = MemoryAnnouncer()
        self.announcements = Announcements(
            self.announcer, MemoryTelemetry(), MovableClock(), "test"
        )

    def close(self, *rows: LedgerRow) -> list[Decision]:
        closed = close_rows(
            self.ledger,
            self.announcements,
            {row.row_key: row for row in rows},
            fail_if_open,
            refused=lambda _: REFUSED,
        )
        return [decision for _, decision, _ in closed]

    def events(self) -> list[Status]:
        return [event.status for event in self.announcer.events]


def test_end_is_announced_and_written() -> None:
    """R27: one event, before the row is closed."""
    world = World(MemoryLedger())
    [row] = world.ledger.write([make_row(revision=0)]).stored.values()

    world.close(row)

    assert world.events() == [Status.FAILED]
    assert [row.status for row in world.ledger.rows.values()] == [Status.FAILED]


def test_end_without_its_event_is_not_written() -> None:
    """R27: at least once."""
    world = World(MemoryLedger())
    [row] = world.ledger.write([make_row(revision=0)]).stored.values()
    world.announcer.refuses = 1

    assert world.close(row) == [REFUSED]
    assert world.ledger.rows == {row.row_key: row}


@pytest.mark.parametrize("version", [0, 1], ids=["a copy of the task", "a newer version"])
def test_end_that_another_run_was_faster_with_is_announced_last(version: int) -> None:
    """R27: one copy read a poison, the other the mended text; the document is completed."""
    ledger = OvertakenLedger(
        lambda row: changed(row, status=Status.COMPLETED, version=row.task.version + version)
    )
    world = World(ledger)
    row = ledger.put(make_row(revision=0))

    assert world.close(row) == [Decision()]
    assert world.events() == [Status.FAILED, Status.COMPLETED]
    last = world.announcer.events[-1]
    assert last.version == row.task.version + version


def test_writer_that_announced_before_a_false_event_has_to_announce_again() -> None:
    """R27: its event was not the last one; its write is lost, and it decides again."""
    ledger = MemoryLedger()
    world = World(ledger)
    [row] = ledger.write([make_row(revision=0, status=Status.PROCESSING)]).stored.values()

    assert announce_standing(ledger, world.announcements, row)

    assert world.events() == []
    assert ledger.write([changed(row, status=Status.COMPLETED)]).stored == {}


def test_row_that_ends_meanwhile_is_announced() -> None:
    """R27: whatever stands when no other writer is faster any more."""
    ledger = OvertakenLedger(lambda row: changed(row, status=Status.DELETED))
    world = World(ledger)
    row = ledger.put(make_row(revision=0, status=Status.COMPLETED))

    assert announce_standing(ledger, world.announcements, row)

    assert world.events() == [Status.COMPLETED, Status.DELETED]


def test_refused_event_of_a_standing_row_is_reported() -> None:
    """R27: the message comes again for it."""
    world = World(MemoryLedger())
    [row] = world.ledger.write([make_row(revision=0, status=Status.FAILED)]).stored.values()
    world.announcer.refuses = 1

    assert not announce_standing(world.ledger, world.announcements, row)


@pytest.mark.parametrize("failures", [1, 9], ids=["for a moment", "for longer"])
def test_false_event_is_corrected_also_if_its_write_fails(failures: int) -> None:
    """R36: another run has ended a newer version, and acknowledged the message of this one."""
    ledger = FailingLedger(
        lambda row: changed(row, status=Status.COMPLETED, version=row.task.version + 1), failures
    )
    world = World(ledger)
    row = ledger.put(make_row(revision=0))

    with pytest.raises(FailureError):
        world.close(row)

    assert world.events() == [Status.FAILED, Status.COMPLETED]
    assert world.announcer.events[-1].version == row.task.version + 1


def test_open_row_whose_end_could_not_be_written_is_not_announced() -> None:
    """R36: its end is announced when it comes."""
    ledger = FailingLedger(lambda row: changed(row, version=row.task.version + 1))
    world = World(ledger)
    row = ledger.put(make_row(revision=0))

    with pytest.raises(FailureError):
        world.close(row)

    assert world.events() == [Status.FAILED]


def test_row_that_was_replaced_while_it_was_announced_is_corrected_if_its_write_fails() -> None:
    """R36: the row was read before another run ended a newer version."""
    ledger = FailingLedger(lambda row: changed(row, status=Status.DELETED))
    world = World(ledger)
    row = ledger.put(make_row(revision=0, status=Status.COMPLETED))

    assert not announce_standing(ledger, world.announcements, row)

    assert world.events() == [Status.COMPLETED, Status.DELETED]


def test_refused_correction_of_a_false_event_lets_the_message_come_again() -> None:
    """R27 R36: acknowledged, the last word about the document would stay a false one."""
    ledger = TroubledLedger()
    world = World(ledger)
    [row] = ledger.write([make_row(revision=0)]).stored.values()

    def delete_unheard() -> None:
        ledger.write([changed(row, status=Status.DELETED)])
        world.announcer.refuses = 1

    ledger.meanwhile = delete_unheard

    assert world.close(row) == [REFUSED]
    assert world.events() == [Status.FAILED]


def test_correction_that_newer_code_is_faster_with_lets_the_message_come_again() -> None:
    """R27 R35: what newer code has announced before is not the last word then."""
    ledger = TroubledLedger()
    world = World(ledger)
    [row] = ledger.write([make_row(revision=0, status=Status.COMPLETED)]).stored.values()
    ledger.newer = {row.row_key}

    assert not announce_standing(ledger, world.announcements, row)


def test_writer_that_announced_before_an_event_whose_write_failed_announces_again() -> None:
    """R27 R36: its event came before the false one; it must not close the row unheard."""
    ledger = TroubledLedger()
    world = World(ledger)
    [row] = ledger.write([make_row(revision=0)]).stored.values()
    started = changed(row, status=Status.PROCESSING, version=row.task.version + 1)
    ledger.meanwhile = lambda: ledger.write([started])
    ledger.fails = {row.row_key}

    with pytest.raises(FailureError):
        world.close(row)

    ended = changed(started, status=Status.COMPLETED, revision=started.revision + 1)
    assert ledger.write([ended]).stored == {}


def test_rows_that_were_written_beside_one_that_failed_are_not_announced_again() -> None:
    """R36: a ledger that is throttled is not written to twice for each row."""
    ledger = TroubledLedger()
    world = World(ledger)
    rows = [make_row(revision=0, document_id=DocumentId(f"{n}")) for n in range(9)]
    stored = ledger.write(rows).stored
    ledger.fails, ledger.written = {rows[4].row_key}, []

    with pytest.raises(FailureError):
        world.close(*stored.values())

    assert len(world.events()) == len(rows)
    assert ledger.written == [*stored, rows[4].row_key]


def test_row_of_newer_code_keeps_no_other_row_from_its_correction() -> None:
    """R35 R36: both were ended by others meanwhile, one of them by newer code."""
    ledger = TroubledLedger()
    world = World(ledger)
    rows = [make_row(revision=0, document_id=DocumentId(name)) for name in "ab"]
    newer, other = ledger.write(rows).stored.values()

    def end_both() -> None:
        ledger.write([changed(other, status=Status.COMPLETED)])
        ledger.newer, ledger.fails = {newer.row_key}, {other.row_key}

    ledger.meanwhile = end_both

    with pytest.raises(FailureError):
        world.close(newer, other)

    last = [event.status for event in world.announcer.events if event.document_id == "b"]
    assert last == [Status.FAILED, Status.COMPLETED]
