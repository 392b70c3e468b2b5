"""Rows that exist are replaced whole, many in one request, each with its own answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from functions.adapters.dynamodb_ledger import DynamoDbLedger, to_item
from functions.adapters.dynamodb_statements import MAX_STATEMENTS
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import DocumentId, RowKey
from functions.core.ledger_row import ErrorRecord, Group, LedgerRow, Status
from functions.core.ports import Swapped
from tests.builders import NOW_MS, changed, make_row
from tests.contract.engines import real
from tests.contract.ledger_engines import LedgerTable, ledger_table
from tests.contract.ledger_rows import ROWS

UNIQUE = count(1)
PASSING = ["ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"]
PASSING += ["InternalServerError", "TransactionConflict"]


@pytest.fixture(params=["moto", real("dynamodb-local")])
def table(request: pytest.FixtureRequest) -> Iterator[LedgerTable]:
    with ledger_table(request, request.param) as table:
        yield table


@dataclass
class Troubled:
    """A client to which the table answers with an error for one row, a number of times."""

    client: Any
    key: RowKey
    code: str
    times: int
    is_done: bool = False  # the row is written all the same

    def batch_execute_statement(self, *, Statements: Sequence[Any]) -> Any:
        hit = {n for n, one in enumerate(Statements) if {"S": self.key} in one["Parameters"]}
        if not hit or not self.times:
            return self.client.batch_execute_statement(Statements=Statements)
        self.times -= 1
        passed = [n for n in range(len(Statements)) if self.is_done or n not in hit]
        asked = [Statements[n] for n in passed]
        answer = self.client.batch_execute_statement(Statements=asked) if asked else {}
        error = {"Error": {"Code": self.code, "Message": "secret"}}
        answered = dict(zip(passed, answer.get("Responses", []), strict=True)) | dict.fromkeys(
            hit, error
        )
        return {"Responses": [answered[n] for n in range(len(Statements))]}


def stored_rows(table: LedgerTable, number: int, **values: Any) -> list[LedgerRow]:
    rows = [
        make_row(document_id=DocumentId(f"{one}"), revision=0, **values) for one in range(number)
    ]
    stored = table.ledger.write(rows).stored
    return [stored[row.row_key] for row in rows]


def item(table: LedgerTable, row: LedgerRow) -> dict[str, Any]:
    key = {"row_key": {"S": row.row_key}}
    answer = table.client.get_item(TableName=table.name, Key=key, ConsistentRead=True)
    found: dict[str, Any] = answer["Item"]
    return found


def put(table: LedgerTable, row: LedgerRow) -> dict[str, Any]:
    """Put a row in place of what stands there; return it as the table has it."""
    values = {**to_item(row), "write_id": item(table, row)["write_id"]}
    table.client.put_item(TableName=table.name, Item=values)
    return item(table, row)


@contextmanager
def requests(table: LedgerTable) -> Iterator[list[int]]:
    """Count the statements of each request."""
    found: list[int] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        found.append(len(params["Statements"]))

    events = table.client.meta.events
    name = "provide-client-params.dynamodb.BatchExecuteStatement"
    events.register(name, note, "requests")
    try:
        yield found
    finally:
        events.unregister(name, unique_id="requests")


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(before=ROWS, after=ROWS)
def test_any_row_over_any_other_stands_as_if_it_was_put(
    table: LedgerTable, before: LedgerRow, after: LedgerRow
) -> None:
    """R28: nothing of the former row is left: no error, no due time, no place in a list."""
    before = changed(before, source=f"{before.task.source}-{next(UNIQUE)}")
    [stored] = table.ledger.write([before]).stored.values()
    after = changed(
        after,
        target=before.task.target,
        source=before.task.source,
        document_id=before.task.document_id,
        created_ms=before.created_ms,
        revision=stored.revision,
    )

    swapped = table.ledger.write([after])

    standing = replace(after, revision=2)
    assert swapped == Swapped({after.row_key: standing}, {})
    assert item(table, after) == put(table, standing)


def test_what_is_a_default_again_leaves_the_item(table: LedgerTable) -> None:
    """R28 R29: an error history, a row in work, and its place among the open ones."""
    errors = (ErrorRecord(NOW_MS, FailureKind.TIMEOUT, "late"),)
    [row] = stored_rows(table, 1, status=Status.PROCESSING, errors=errors, attempts=3, type="a")
    assert {"errors", "in_work", "open_shard", "due_ms", "attempts", "type"} <= item(
        table, row
    ).keys()

    done = replace(make_row(document_id=DocumentId("0")), status=Status.COMPLETED)
    [stored] = table.ledger.write([done]).stored.values()

    assert item(table, row) == put(table, stored)
    assert not {"errors", "in_work", "open_shard", "attempts", "type"} & item(table, row).keys()
    assert not list(table.ledger.listed([Group.OPEN]))


def test_many_rows_take_few_requests(table: LedgerTable) -> None:
    """R50: 25 are the limit of a request; each row gets its own answer, in its own place."""
    rows = stored_rows(table, 60)
    table.ledger.write([rows[7], rows[30]])
    table.expire(rows[59].row_key)

    with requests(table) as sizes:
        swapped = table.ledger.write([changed(row, attempts=n) for n, row in enumerate(rows)])

    assert sorted(sizes) == [10, MAX_STATEMENTS, MAX_STATEMENTS]
    late = {rows[7].row_key, rows[30].row_key, rows[59].row_key}
    assert swapped.stored == {
        row.row_key: changed(row, attempts=n, revision=2)
        for n, row in enumerate(rows)
        if row.row_key not in late
    }
    assert swapped.lost == {
        rows[7].row_key: replace(rows[7], revision=2),
        rows[30].row_key: replace(rows[30], revision=2),
        rows[59].row_key: None,
    }
    assert table.ledger.read(swapped.stored) == swapped.stored


def test_new_rows_and_others_are_written_together(table: LedgerTable) -> None:
    """R28: enqueue has both in one batch."""
    [row] = stored_rows(table, 1)
    new = make_row(document_id=DocumentId("new"), revision=0)

    swapped = table.ledger.write([new, row])

    assert swapped.stored == {
        row.row_key: replace(row, revision=2),
        new.row_key: replace(new, revision=1),
    }


def test_row_that_comes_twice_is_written_once(table: LedgerTable) -> None:
    """R28: the second one loses to the first, and keeps no other from being written."""
    rows = stored_rows(table, 3)
    second = changed(rows[0], attempts=9)

    swapped = table.ledger.write([*rows, second])

    assert swapped.stored == {row.row_key: replace(row, revision=2) for row in rows}
    assert swapped.lost == {second.row_key: replace(rows[0], revision=2)}


def test_large_rows_are_spread_over_requests(table: LedgerTable) -> None:
    """R31: 25 rows of 400 KB would be more than DynamoDB takes at once."""
    rows = [changed(row, type="x" * 300_000) for row in stored_rows(table, 7)]

    with requests(table) as sizes:
        swapped = table.ledger.write(rows)

    assert sorted(sizes) == [1, 3, 3]
    assert len(swapped.stored) == 7


def test_write_that_the_sdk_repeats_has_won(table: LedgerTable) -> None:
    """R31: its first answer was lost; that is no other writer."""
    rows = stored_rows(table, 3)

    class Twice:
        """A client whose first answer is lost on the way."""

        def batch_execute_statement(self, **request: Any) -> Any:
            table.client.batch_execute_statement(**request)
            return table.client.batch_execute_statement(**request)

    ledger = DynamoDbLedger(Twice(), table.name)  # type: ignore[arg-type]

    swapped = ledger.write(rows)

    assert swapped == Swapped({row.row_key: replace(row, revision=2) for row in rows}, {})
    assert table.ledger.write(rows).stored == {}


def test_row_that_an_answer_does_not_show_is_read(table: LedgerTable) -> None:
    """R31: taken for gone, its task would be acknowledged unworked."""
    rows = stored_rows(table, 3)
    table.ledger.write([rows[0]])
    table.expire(rows[1].row_key)

    class Silent:
        """A client whose answers say that a condition was not met, and not what was met."""

        batch_get_item = table.client.batch_get_item

        def batch_execute_statement(self, **request: Any) -> Any:
            answer = table.client.batch_execute_statement(**request)
            for one in answer["Responses"]:
                one.get("Error", {}).pop("Item", None)
            return answer

    ledger = DynamoDbLedger(Silent(), table.name)  # type: ignore[arg-type]

    assert ledger.write(rows) == Swapped(
        {rows[2].row_key: replace(rows[2], revision=2)},
        {rows[0].row_key: replace(rows[0], revision=2), rows[1].row_key: None},
    )


@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("code", PASSING)
def test_row_that_is_throttled_once_is_written_at_the_next_try(
    table: LedgerTable, code: str, is_done: bool
) -> None:
    """R31: such an error stands in an answer that says OK, which the SDK does not repeat."""
    rows = stored_rows(table, 3)
    client: Any = Troubled(table.client, rows[1].row_key, code, times=1, is_done=is_done)

    swapped = DynamoDbLedger(client, table.name).write(rows)

    assert swapped == Swapped({row.row_key: replace(row, revision=2) for row in rows}, {})
    assert table.ledger.read(swapped.stored) == swapped.stored


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ThrottlingError", FailureKind.STORE_UNAVAILABLE),
        ("ValidationError", FailureKind.STORE_UNAVAILABLE),
        ("AccessDenied", FailureKind.STORE_DENIED),
    ],
)
def test_row_that_fails_keeps_no_other_from_being_written(
    table: LedgerTable, code: str, kind: FailureKind
) -> None:
    """R22 R35: also of the same request, and the failure is reported with the code of AWS."""
    rows = stored_rows(table, 30)
    client: Any = Troubled(table.client, rows[1].row_key, code, times=1000)

    with pytest.raises(FailureError) as caught:
        DynamoDbLedger(client, table.name).write(rows)

    assert caught.value.failure == Failure(kind, f"writing table {table.name}: {code}")
    found = table.ledger.read(row.row_key for row in rows)
    assert [row.row_key for row in found.values() if row.revision == 1] == [rows[1].row_key]


def test_row_that_is_too_large_keeps_no_other_from_being_written(table: LedgerTable) -> None:
    """R35: of those that are replaced together with it."""
    rows = stored_rows(table, 3)
    too_large = changed(rows[0], type="x" * 410_000)

    with pytest.raises(FailureError):
        table.ledger.write([too_large, *rows[1:]])

    found = table.ledger.read(row.row_key for row in rows)
    assert [found[row.row_key].revision for row in rows] == [1, 2, 2]
