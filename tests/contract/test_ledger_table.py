"""The ledger's items as DynamoDB, its sparse index and its time to live see them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from functions.adapters.dynamodb_ledger import OPEN_SHARDS, DynamoDbLedger, shard_of
from functions.adapters.dynamodb_values import from_dynamodb
from functions.core.failure import FailureError
from functions.core.identity import DocumentId
from functions.core.ledger_row import SCHEMA, Group, IndexedContent, LedgerRow, Quarantine, Status
from functions.core.ports import UnreadableRowsError
from functions.core.transitions import complete, start
from tests.builders import NOW_MS, changed, make_message, make_row
from tests.contract.engines import real
from tests.contract.ledger_engines import LedgerTable, ledger_table

NEWER_ERROR = {"at_ms": {"N": "1"}, "kind": {"S": "secret"}, "message": {"S": "secret"}}


@pytest.fixture(params=["moto", real("dynamodb-local")])
def table(request: pytest.FixtureRequest) -> Iterator[LedgerTable]:
    with ledger_table(request, request.param) as table:
        yield table


def open_rows(table: LedgerTable) -> list[dict[str, Any]]:
    scanned = table.client.scan(TableName=table.name, IndexName="open")
    items: list[dict[str, Any]] = scanned["Items"]
    return items


@pytest.mark.parametrize("status", list(Status))
def test_only_rows_that_owe_something_are_in_the_sparse_index(
    table: LedgerTable, status: Status
) -> None:
    """R29: the sweep reads what owes work, and pays for nothing else."""
    row = make_row(status=status, revision=0)

    table.ledger.write([row])

    owed = [
        {
            "row_key": {"S": row.row_key},
            "open_shard": {"S": f"{row.group}-{shard_of(row.row_key):02}"},
            "due_ms": {"N": str(row.queued_ms)},
            "status": {"S": str(status.listed)},
            "lane": {"S": "normal"},
        }
    ]
    assert open_rows(table) == ([] if status in (Status.COMPLETED, Status.SKIPPED) else owed)


def test_row_leaves_the_sparse_index_when_it_completes(table: LedgerTable) -> None:
    """R29: a completed document owes nothing."""
    [row] = table.ledger.write([make_row(revision=0)]).stored.values()

    table.ledger.write([replace(row, status=Status.COMPLETED)])

    assert open_rows(table) == []


def test_start_writes_nothing_to_the_sparse_index(table: LedgerTable) -> None:
    """R50: the status is in the row alone; the next write of the row takes it away again."""
    [row] = table.ledger.write([make_row(revision=0)]).stored.values()
    before = open_rows(table)

    [started] = table.ledger.write([_started(row)]).stored.values()

    assert open_rows(table) == before
    assert table.ledger.read([row.row_key])[row.row_key].status is Status.PROCESSING
    table.ledger.write([replace(started, status=Status.PENDING)])
    assert "in_work" not in _item(table, row)


def test_row_that_older_code_started_is_in_work(table: LedgerTable) -> None:
    """R28: rows of the schema before are read as they were meant."""
    [row] = table.ledger.write([make_row(revision=0)]).stored.values()
    older = {**_item(table, row), "schema": {"N": "1"}, "status": {"S": "processing"}}
    table.client.put_item(TableName=table.name, Item=older)

    assert table.ledger.read([row.row_key])[row.row_key].status is Status.PROCESSING


def test_due_time_is_the_next_attempt_if_there_is_one(table: LedgerTable) -> None:
    """R29: a row that backs off is not due before its time."""
    table.ledger.write([make_row(next_attempt_ms=NOW_MS + 9, revision=0)])

    assert [row["due_ms"] for row in open_rows(table)] == [{"N": str(NOW_MS + 9)}]


def test_time_to_live_is_a_number_of_seconds_and_only_where_set(table: LedgerTable) -> None:
    """R28: completed rows expire; a row that is owed work has no such attribute at all."""
    rows = [
        make_row(document_id=DocumentId("done"), expires_at=1_800_000_000, revision=0),
        make_row(document_id=DocumentId("open"), revision=0),
    ]
    table.ledger.write(rows)

    items = [_item(table, row) for row in rows]

    assert [item.get("expires_at") for item in items] == [{"N": "1800000000"}, None]


def test_row_that_leaves_a_final_status_loses_its_time_to_live(table: LedgerTable) -> None:
    """R28: a document that is worked again does not vanish in the middle."""
    [row] = table.ledger.write([make_row(expires_at=1_800_000_000, revision=0)]).stored.values()

    table.ledger.write([changed(row, expires_at=None)])

    assert "expires_at" not in _item(table, row)


def test_shards_are_spread(table: LedgerTable) -> None:
    """R29: no hot partition of the sparse index throttles the table."""
    table.ledger.write(
        [make_row(document_id=DocumentId(f"{number}"), revision=0) for number in range(300)]
    )

    shards = {row["open_shard"]["S"] for row in open_rows(table)}
    assert shards == {f"open-{number:02}" for number in range(OPEN_SHARDS)}


def test_write_that_meets_itself_has_won(table: LedgerTable) -> None:
    """R31: the SDK sends a write again whose answer was lost; that is no other writer."""
    row = make_row(revision=0)

    class Twice:
        """A client whose first answer is lost on the way."""

        exceptions = table.client.exceptions

        def put_item(self, **request: Any) -> Any:
            table.client.put_item(**request)
            return table.client.put_item(**request)

    ledger = DynamoDbLedger(Twice(), table.name)  # type: ignore[arg-type]

    assert ledger.write([row]).stored == {row.row_key: replace(row, revision=1)}
    assert list(table.ledger.write([row]).lost) == [row.row_key]


def test_row_says_its_schema(table: LedgerTable) -> None:
    """R28: a later version of the code can tell how a row was stored."""
    row = make_row(revision=0)

    table.ledger.write([row])

    assert _item(table, row)["schema"] == {"N": str(SCHEMA)}


def test_row_of_newer_code_is_left_alone(table: LedgerTable) -> None:
    """R28: after a deployment was taken back, older code does not touch such a row."""
    [row] = table.ledger.write([make_row(revision=0)]).stored.values()
    newer = {**_item(table, row), "schema": {"N": str(SCHEMA + 1)}, "revision": {"N": "7"}}
    table.client.put_item(TableName=table.name, Item=newer)

    other = make_row(document_id=DocumentId("other"), revision=0)
    with pytest.raises(FailureError, match="deploy the version that wrote it") as caught:
        table.ledger.read([row.row_key])
    swapped = table.ledger.write([row, other])

    assert swapped.unreadable == {row.row_key: caught.value.failure}
    assert (list(swapped.stored), swapped.lost) == ([other.row_key], {})
    assert not caught.value.failure.kind.spends_attempt
    assert _item(table, row) == newer


@pytest.mark.parametrize(
    "newer",
    [
        pytest.param({"schema": {"N": str(SCHEMA + 1)}}, id="schema"),
        pytest.param({"lane": {"S": "express"}}, id="lane"),
        pytest.param({"status": {"S": "dreaming"}}, id="status"),
        pytest.param({"errors": {"L": [{"M": NEWER_ERROR}]}}, id="kind of failure"),
    ],
)
def test_row_of_newer_code_concerns_no_other_row(table: LedgerTable, newer: Any) -> None:
    """R28 R35 R55: the others are read all the same, and what is unknown is named by its place."""
    names = [DocumentId(name) for name in "abc"]
    stored = table.ledger.write([make_row(document_id=name, revision=0) for name in names]).stored
    [one, *others] = stored
    table.client.put_item(TableName=table.name, Item={**_item(table, stored[one]), **newer})

    with pytest.raises(UnreadableRowsError, match="deploy the version that wrote it") as caught:
        table.ledger.read(stored)

    assert list(caught.value.keys) == [one]
    assert caught.value.rows == {key: stored[key] for key in others}
    assert not caught.value.failure.kind.spends_attempt
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("newer", [{"lane": {"S": "express"}}, {"status": {"S": "dreaming"}}])
def test_row_of_newer_code_does_not_end_a_list(table: LedgerTable, newer: Any) -> None:
    """R29 R35 R55: the sweep finds the others."""
    names = [DocumentId(name) for name in "abc"]
    stored = table.ledger.write([make_row(document_id=name, revision=0) for name in names]).stored
    [one, *others] = stored
    table.client.put_item(TableName=table.name, Item={**_item(table, stored[one]), **newer})

    listed = table.ledger.listed([Group.OPEN])

    assert {row.row_key for row in listed} == set(others)


def test_row_that_cannot_be_written_keeps_no_other_from_it(table: LedgerTable) -> None:
    """R35: also of those that the same thread writes."""
    rows = [
        make_row(document_id=DocumentId(f"article-{number}"), revision=0) for number in range(20)
    ]
    too_large = changed(rows[0], type="x" * 410_000)

    with pytest.raises(FailureError):
        table.ledger.write([too_large, *rows[1:]])

    keys = {row.row_key for row in rows}
    assert table.ledger.read(keys).keys() == keys - {too_large.row_key}


def test_completed_row_is_small(table: LedgerTable) -> None:
    """R28: a million completed documents cost less than a gigabyte of ledger."""
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
    name = "a" * 100
    row = make_row(revision=0, document_id=DocumentId(name), key={"id": {"S": name}})
    started = _started(changed(row, trace_id=trace))
    indexed = IndexedContent(10, 0, 5000, "text-embedding-3-small", index_uuid="u" * 22)
    done = complete(started, indexed, content_hash="0" * 64, kept_days=30, now_ms=NOW_MS)

    table.ledger.write([done])

    # DynamoDB counts the names and the values.
    assert (
        sum(len(f"{name}{value}") for name, value in from_dynamodb(_item(table, done)).items())
        < 1024
    )


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_one_of_many_writers_at_once_wins(request: pytest.FixtureRequest) -> None:
    """R31: the condition decides in the table, however the writers interleave."""
    with ledger_table(request, "dynamodb-local") as table, ThreadPoolExecutor(8) as pool:
        [row] = table.ledger.write([make_row(revision=0)]).stored.values()
        copies = [changed(row, attempts=number) for number in range(8)]

        swapped = list(pool.map(lambda copy: table.ledger.write([copy]), copies))

        winners = [swap.stored[row.row_key] for swap in swapped if swap.stored]
        assert len(winners) == 1
        assert table.ledger.read([row.row_key]) == {row.row_key: winners[0]}


def _started(row: LedgerRow) -> LedgerRow:
    return start(
        row, make_message(), quarantine=Quarantine.NONE, max_attempts=5, now_ms=NOW_MS + 5000
    )


def _item(table: LedgerTable, row: LedgerRow) -> dict[str, Any]:
    key = {"row_key": {"S": row.row_key}}
    answer = table.client.get_item(TableName=table.name, Key=key, ConsistentRead=True)
    item: dict[str, Any] = answer["Item"]
    return item
