"""The ledger port: one truth per document, and no write is lost."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from functions.adapters.dynamodb_ledger import PARTS
from functions.core.identity import DocumentId
from functions.core.lane import Lane
from functions.core.ledger_row import Group, LedgerRow, Status
from functions.core.ports import Listed, Swapped
from tests.builders import NOW_MS, changed, make_row
from tests.contract.engines import real
from tests.contract.ledger_engines import LedgerEngine, ledger_engine
from tests.contract.ledger_rows import ROWS

UNIQUE = count(1)


@pytest.fixture(params=["memory", "moto", real("dynamodb-local")])
def engine(request: pytest.FixtureRequest) -> Iterator[LedgerEngine]:
    with ledger_engine(request, request.param) as engine:
        yield engine


def names(listed: Iterable[Listed]) -> list[str]:
    return [one.row_key for one in listed]


def test_first_write_inserts(engine: LedgerEngine) -> None:
    """R28: a document without a row gets one, ready for the next write."""
    row = make_row(revision=0)

    swapped = engine.ledger.write([row])

    stored = replace(row, revision=1)
    assert swapped == Swapped({row.row_key: stored}, {})
    assert engine.ledger.read([row.row_key]) == {row.row_key: stored}


def test_insert_where_a_row_stands_is_lost_and_returns_that_row(
    engine: LedgerEngine,
) -> None:
    """R28: two changes of one new document do not both think that they were first."""
    row = make_row(revision=0)
    engine.ledger.write([row])

    swapped = engine.ledger.write([changed(row, version=row.task.version + 5)])

    assert swapped == Swapped({}, {row.row_key: replace(row, revision=1)})


def test_write_under_the_read_revision_wins_once(engine: LedgerEngine) -> None:
    """R28 R31: of two that read the same row, the second writer gets what the first wrote."""
    [row] = engine.ledger.write([make_row(revision=0)]).stored.values()
    first, second = replace(row, status=Status.PROCESSING), changed(row, attempts=7)

    won, lost = engine.ledger.write([first]), engine.ledger.write([second])

    standing = replace(first, revision=2)
    assert won == Swapped({row.row_key: standing}, {})
    assert lost == Swapped({}, {row.row_key: standing})
    assert engine.ledger.read([row.row_key]) == {row.row_key: standing}


def test_stored_row_is_ready_for_the_next_write(engine: LedgerEngine) -> None:
    """R28: what a write returns is what the next one builds on."""
    row = make_row(revision=0)
    for attempts in range(1, 4):
        [row] = engine.ledger.write([changed(row, attempts=attempts)]).stored.values()

    assert (row.revision, row.progress.attempts) == (3, 3)


def test_write_over_an_expired_row_is_lost_to_nothing(engine: LedgerEngine) -> None:
    """R28: a row that vanished meanwhile is not brought back by a late writer."""
    [row] = engine.ledger.write([make_row(revision=0)]).stored.values()
    engine.expire(row.row_key)

    swapped = engine.ledger.write([row])

    assert swapped == Swapped({}, {row.row_key: None})
    assert engine.ledger.read([row.row_key]) == {}


def test_expired_and_recreated_row_is_not_its_former_self(engine: LedgerEngine) -> None:
    """R07 R28: a writer of the former row finds the same revision, and still loses."""
    [former] = engine.ledger.write([make_row(revision=0)]).stored.values()
    engine.expire(former.row_key)
    [now] = engine.ledger.write([make_row(revision=0, created_ms=NOW_MS + 1)]).stored.values()

    swapped = engine.ledger.write([changed(former, attempts=9)])

    assert now.revision == former.revision
    assert swapped == Swapped({}, {now.row_key: now})


def test_one_lost_row_harms_no_other(engine: LedgerEngine) -> None:
    """R10: each row of a batch has its own fate."""
    rows = [make_row(document_id=DocumentId(name), revision=0) for name in "abc"]
    engine.ledger.write([rows[1]])

    swapped = engine.ledger.write(rows)

    assert set(swapped.stored) == {rows[0].row_key, rows[2].row_key}
    assert set(swapped.lost) == {rows[1].row_key}


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(row=ROWS)
def test_every_field_round_trips(engine: LedgerEngine, row: LedgerRow) -> None:
    """R28: any row comes back as it was written, whatever its texts and numbers."""
    # Hypothesis repeats itself; each example is a document of its own.
    row = changed(row, source=f"{row.task.source}-{next(UNIQUE)}")

    engine.ledger.write([row])

    assert engine.ledger.read([row.row_key]) == {row.row_key: replace(row, revision=1)}


def test_every_field_is_covered_by_the_property() -> None:
    """R28: a new field cannot be forgotten above."""
    drawn = ROWS.wrapped_strategy.kwargs  # type: ignore[attr-defined]

    assert set(drawn) == {field.name for field in fields(LedgerRow)}
    for part in PARTS.keys() - {"position"}:
        assert set(drawn[part].kwargs) == PARTS[part]


def test_no_two_fields_of_a_row_have_one_name() -> None:
    """R28: the parts of a row are stored side by side in one flat item."""
    plain = [field.name for field in fields(LedgerRow) if field.name not in PARTS]
    parts = [name for names in PARTS.values() for name in names]

    assert len(plain + parts) == len({*plain, *parts})


@pytest.mark.parametrize("length", [2000, 2048, 5000])
def test_long_document_ids_have_rows(engine: LedgerEngine, length: int) -> None:
    """R02: a key of any length that DynamoDB allows, alone or joined of two attributes."""
    row = make_row(document_id=DocumentId("ä" * (length // 2)), revision=0)

    engine.ledger.write([row])

    assert engine.ledger.read([row.row_key]) == {row.row_key: replace(row, revision=1)}


def test_more_rows_than_one_call_takes(engine: LedgerEngine) -> None:
    """R28: 100 keys are the limit of one read, not of a batch; absent rows are left out."""
    rows = [make_row(document_id=DocumentId(f"d{n}"), revision=0) for n in range(110)]
    engine.ledger.write(rows)
    absent = make_row(document_id=DocumentId("absent")).row_key

    found = engine.ledger.read([absent, *(row.row_key for row in rows)])

    assert found == {row.row_key: replace(row, revision=1) for row in rows}


@pytest.mark.parametrize(
    ("group", "changes"),
    [
        (Group.OPEN, {"status": Status.PENDING}),
        (Group.OPEN, {"status": Status.PROCESSING}),
        (Group.PARKED, {"parked": True}),
        (Group.OVER_BUDGET, {"parked": True, "over_budget": True}),
        (Group.PARKED, {"sent": False}),
        (Group.HEALING, {"status": Status.FAILED, "next_attempt_ms": NOW_MS}),
        (Group.FAILED, {"status": Status.FAILED}),
        (Group.FAILED, {"status": Status.FAILED_MAX_RETRIES}),
        (Group.FAILED, {"status": Status.PARTIALLY_COMPLETED}),
        (Group.DELETED, {"status": Status.DELETED}),
        (None, {"status": Status.COMPLETED}),
        (None, {"status": Status.SKIPPED}),
    ],
)
def test_rows_are_listed_by_who_looks_for_them(
    engine: LedgerEngine, group: Group | None, changes: dict[str, Any]
) -> None:
    """R29: with all that decides when; what owes nothing is not even read."""
    row = make_row(revision=0, lane=Lane.BULK, **changes)
    engine.ledger.write([row])

    found = {group: names(engine.ledger.listed([group])) for group in Group}

    assert found == {one: [row.row_key] if one is group else [] for one in Group}


def test_only_rows_that_are_due_are_listed(engine: LedgerEngine) -> None:
    """R29: what waits for later is not read."""
    rows = [
        make_row(
            document_id=DocumentId(f"due {n}"), parked=True, next_attempt_ms=NOW_MS + n, revision=0
        )
        for n in range(5)
    ]
    engine.ledger.write(rows)

    found = engine.ledger.listed([Group.OPEN, Group.PARKED], due_ms=NOW_MS + 2)

    assert sorted(names(found)) == [row.row_key for row in rows[:3]]


def test_start_does_not_move_a_row_in_the_list(engine: LedgerEngine) -> None:
    """R29 R50: it is listed as before, also when it began to wait a day ago; the row knows more."""
    [row] = engine.ledger.write([make_row(revision=0)]).stored.values()
    before = list(engine.ledger.listed([Group.OPEN]))

    started = changed(row, status=Status.PROCESSING, last_attempt_ms=NOW_MS + 5)
    engine.ledger.write([started])

    assert list(engine.ledger.listed([Group.OPEN])) == before
    assert before[0].status is Status.PENDING
    found = engine.ledger.read([row.row_key])[row.row_key]
    assert (found.status, found.due_ms) == (Status.PROCESSING, NOW_MS + 5)


def test_listing_may_start_anywhere(engine: LedgerEngine) -> None:
    """R29: a sweep that was cut off goes on where it stopped, and comes around."""
    rows = [make_row(document_id=DocumentId(f"{n}"), revision=0) for n in range(40)]
    engine.ledger.write(rows)
    listed = list(engine.ledger.listed([Group.OPEN]))
    middle = listed[20].cursor

    found = list(engine.ledger.listed([Group.OPEN], start=middle))

    assert sorted(names(found)) == sorted(row.row_key for row in rows)
    assert found[0].cursor == middle


def test_row_is_removed_only_as_it_was_read(engine: LedgerEngine) -> None:
    """R07 R31: a purge never takes a document that came back meanwhile."""
    [row] = engine.ledger.write([make_row(revision=0)]).stored.values()
    [newer] = engine.ledger.write([row]).stored.values()

    assert engine.ledger.remove(row) is False
    assert engine.ledger.remove(newer) is True
    assert engine.ledger.read([row.row_key]) == {}
    assert engine.ledger.remove(newer) is False


def test_empty_ledger_lists_nothing(engine: LedgerEngine) -> None:
    """R29: before the first document."""
    assert list(engine.ledger.listed(list(Group))) == []


def test_row_asked_for_twice_comes_once(engine: LedgerEngine) -> None:
    """R10: two tasks of one document in a batch do not fail its reading."""
    [row] = engine.ledger.write([make_row(revision=0)]).stored.values()

    assert engine.ledger.read([row.row_key, row.row_key]) == {row.row_key: row}


def test_nothing_asked_is_nothing_done(engine: LedgerEngine) -> None:
    """R10: a batch without work of its own."""
    assert engine.ledger.read([]) == {}
    assert engine.ledger.write([]) == Swapped({}, {})
