"""The ledger table. Every write compares the revision that it was read at.

A new row is put, as only that answers with the row that stands there; up to 25 rows that exist
are replaced in one request.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from functions.adapters.dynamodb_batch import batch_get
from functions.adapters.dynamodb_statements import (
    MAX_CHARACTERS,
    MAX_STATEMENTS,
    Answer,
    Unmet,
    execute,
)
from functions.adapters.dynamodb_values import from_dynamodb, to_dynamodb
from functions.adapters.store_errors import store_failures
from functions.core.batches import batches_by_size
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.identity import RowKey
from functions.core.lane import Lane
from functions.core.ledger_row import SCHEMA, Group, LedgerRow, Status
from functions.core.names import OPEN_INDEX
from functions.core.ports import START, Cursor, Listed, Swapped, UnreadableRowsError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# The rows of each group are spread over this many partitions of the sparse index: a hot one
# would throttle the writes to the table itself.
OPEN_SHARDS = 32
PARALLEL_WRITES = 8

_ROW = TypeAdapter(LedgerRow)
# The parts of a row, each with the names of its fields: no two fields of a row have one name.
PARTS = {
    part.name: {field.name for field in fields(part.type)}
    for part in fields(LedgerRow)
    if isinstance(part.type, type) and is_dataclass(part.type)
}
# All that an item may hold beside its key: what a row has not is removed from the item. One that
# no code writes any more stays here as long as rows may have it.
ATTRIBUTES = sorted(
    {
        *(field.name for field in fields(LedgerRow) if field.name not in PARTS),
        *(name for names in PARTS.values() for name in names),
        *("schema", "in_work", "open_shard", "due_ms", "write_id"),
    }
)


@dataclass(frozen=True)
class _Replacement:
    """A row as it shall stand, and the statement that puts it there."""

    row: LedgerRow
    write_id: dict[str, str]
    statement: dict[str, Any]
    characters: int


class DynamoDbLedger:
    """Reads rows, and swaps them under their revision."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        # BatchGetItem refuses a key that comes twice.
        wanted: list[dict[str, Any]] = [{"row_key": {"S": key}} for key in dict.fromkeys(keys)]
        rows: dict[RowKey, LedgerRow] = {}
        unreadable: list[UnreadableRowsError] = []
        for item in batch_get(self._client, self._table, wanted):
            try:
                row = from_item(item)
                rows[row.row_key] = row
            except UnreadableRowsError as error:
                unreadable.append(error)
        if unreadable:
            refused = [key for error in unreadable for key in error.keys]
            raise UnreadableRowsError(unreadable[0].failure, refused, rows)
        return rows

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        if not rows:
            return Swapped({}, {})
        new = [row for row in rows if not row.revision]
        # A part for each thread: rows handed over one by one would switch threads each time.
        parts = [new[number::PARALLEL_WRITES] for number in range(min(PARALLEL_WRITES, len(new)))]
        changed = batches_by_size(
            (self._replacement(row) for row in rows if row.revision),
            lambda one: one.characters,
            max_size=MAX_CHARACTERS,
            max_items=MAX_STATEMENTS,
        )
        calls: list[Callable[[], Swapped]] = [
            *(partial(self._insert_all, part) for part in parts),
            *(partial(self._replace_all, batch) for batch in changed),
        ]
        if len(calls) == 1:
            return calls[0]()
        with ThreadPoolExecutor(min(PARALLEL_WRITES, len(calls))) as pool:
            written = [pool.submit(call) for call in calls]
        # Only now, as an error that is raised before would cancel what has not begun.
        return _together(one.result() for one in written)

    def _insert_all(self, rows: Sequence[LedgerRow]) -> Swapped:
        """Write one after the other; one that fails keeps no other from being written."""
        written: list[Swapped] = []
        failed: FailureError | None = None
        for row in rows:
            try:
                written.append(self._insert(row))
            except FailureError as error:
                failed = error
        if failed is not None:
            raise failed
        return _together(written)

    def _replace_all(self, changed: Sequence[_Replacement]) -> Swapped:
        """Write all in one request; one that fails keeps no other from being written."""
        answers = execute(self._client, self._table, [one.statement for one in changed])
        for answer in answers:
            if isinstance(answer, FailureError):
                raise answer
        return _together(map(_swapped, changed, self._looked_up(changed, answers)))

    def _looked_up(
        self, changed: Sequence[_Replacement], answers: Sequence[Answer]
    ) -> Sequence[Answer]:
        """Read the items that answers do not show: a row that is taken for gone is not worked."""
        keys = [
            one.row.row_key
            for one, answer in zip(changed, answers, strict=True)
            if isinstance(answer, Unmet) and answer.standing is None
        ]
        if not keys:
            return answers
        wanted = [{"row_key": {"S": key}} for key in dict.fromkeys(keys)]
        standing = {
            item["row_key"]["S"]: item for item in batch_get(self._client, self._table, wanted)
        }
        return [
            Unmet(answer.standing or standing.get(one.row.row_key))
            if isinstance(answer, Unmet)
            else answer
            for one, answer in zip(changed, answers, strict=True)
        ]

    def remove(self, row: LedgerRow) -> bool:
        with store_failures(f"writing table {self._table}"):
            try:
                self._client.delete_item(
                    TableName=self._table, Key={"row_key": {"S": row.row_key}}, **_standing_at(row)
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return False
        return True

    def listed(
        self, groups: Sequence[Group], *, due_ms: int | None = None, start: Cursor = START
    ) -> Iterator[Listed]:
        """Yield the rows of these groups that are due; a cursor names a shard."""
        for number in range(OPEN_SHARDS):
            shard = (int(start or 0) + number) % OPEN_SHARDS
            for group in groups:
                yield from self._shard(group, shard, due_ms)

    def _shard(self, group: Group, shard: int, due_ms: int | None) -> Iterator[Listed]:
        condition = "open_shard = :shard"
        values: dict[str, Any] = {":shard": {"S": _open_shard(group, shard)}}
        if due_ms is not None:
            condition += " AND due_ms <= :due"
            values[":due"] = {"N": str(due_ms)}
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName=OPEN_INDEX,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
        )
        with store_failures(f"reading the index of table {self._table}"):
            for page in pages:
                for item in page["Items"]:
                    listed = _listed(item, group, shard)
                    if listed is not None:
                        yield listed

    def _insert(self, row: LedgerRow) -> Swapped:
        stored = replace(row, revision=row.revision + 1)
        write_id = _new_write_id()
        with store_failures(f"writing table {self._table}"):
            try:
                self._client.put_item(
                    TableName=self._table,
                    Item={**to_item(stored), "write_id": write_id},
                    ConditionExpression="attribute_not_exists(row_key)",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
            except self._client.exceptions.ConditionalCheckFailedException as error:
                standing: Any = error.response.get("Item")
                return _met(stored, write_id, standing)
        return Swapped({row.row_key: stored}, {})

    def _replacement(self, row: LedgerRow) -> _Replacement:
        """Set all that the row has, and remove all else that an item may hold."""
        stored = replace(row, revision=row.revision + 1)
        write_id = _new_write_id()
        item = {**to_item(stored), "write_id": write_id}
        key = item.pop("row_key")
        sets = " ".join(f'SET "{name}"=?' for name in item)
        removes = " ".join(f'REMOVE "{name}"' for name in ATTRIBUTES if name not in item)
        values = [*item.values(), key, *_standing_values(row).values()]
        statement = {
            "Statement": f'UPDATE "{self._table}" {sets} {removes}'
            " WHERE row_key=? AND revision=? AND created_ms=?",
            "Parameters": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return _Replacement(stored, write_id, statement, len(str(values)))


def _new_write_id() -> dict[str, str]:
    """Let a write that is sent again, by the SDK or by us, recognise its own first one."""
    return {"S": uuid4().hex}


def _swapped(replacement: _Replacement, answer: Answer) -> Swapped:
    if isinstance(answer, Unmet):
        return _met(replacement.row, replacement.write_id, answer.standing)
    return Swapped({replacement.row.row_key: replacement.row}, {})


def _met(stored: LedgerRow, write_id: dict[str, str], standing: dict[str, Any] | None) -> Swapped:
    """Tell a write that met itself from one that was lost to what stands there."""
    if standing and standing.get("write_id") == write_id:
        return Swapped({stored.row_key: stored}, {})
    return _lost(stored.row_key, standing)


def _together(parts: Iterable[Swapped]) -> Swapped:
    swapped = Swapped({}, {})
    for one in parts:
        swapped.stored.update(one.stored)
        swapped.lost.update(one.lost)
        swapped.unreadable.update(one.unreadable)
    return swapped


def _lost(key: RowKey, standing: dict[str, Any] | None) -> Swapped:
    try:
        return Swapped({}, {key: from_item(standing) if standing else None})
    except UnreadableRowsError as error:
        return Swapped({}, {}, {key: error.failure})


def to_item(row: LedgerRow) -> dict[str, Any]:
    """Spell a row as DynamoDB stores it: one flat item, without the values that are defaults."""
    item = _ROW.dump_python(row, mode="json", exclude_defaults=True)
    for part in PARTS:
        item |= item.pop(part, {})
    item |= {"row_key": row.row_key, "schema": SCHEMA, "status": row.status.listed}
    if row.status is Status.PROCESSING:
        # Beside the status, which the sparse index has, too: a start does not write there.
        item["in_work"] = True
    if row.group is not None:
        item["open_shard"] = _open_shard(row.group, shard_of(row.row_key))
        item["due_ms"] = row.listed_ms
    return to_dynamodb(item)


def from_item(item: dict[str, Any]) -> LedgerRow:
    """Read a row as DynamoDB returned it.

    A row of newer code is refused: written back, it would lose what this code does not know.
    """
    values = from_dynamodb(item)
    if (schema := values.get("schema", SCHEMA)) > SCHEMA:
        raise _unreadable(item, f"row of schema {schema}, this version knows {SCHEMA}")
    if values.get("in_work"):
        values["status"] = Status.PROCESSING
    for part, names in PARTS.items():
        values[part] = {name: values[name] for name in names & values.keys()}
    try:
        return _ROW.validate_python(values)
    except ValidationError as error:
        # Where the values stand, and not what they are.
        places = ", ".join(".".join(map(str, one["loc"])) for one in error.errors())
        why = f"row of schema {schema}, unknown to this version: {places}"
        raise _unreadable(item, why) from error


def _unreadable(item: dict[str, Any], why: str) -> UnreadableRowsError:
    message = f"{why}: deploy the version that wrote it"
    failure = Failure(FailureKind.STORE_UNAVAILABLE, message)
    return UnreadableRowsError(failure, [RowKey(item["row_key"]["S"])], {})


def _listed(item: dict[str, Any], group: Group, shard: int) -> Listed | None:
    """Read a row as the sparse index has it; None: newer code knows more statuses or lanes."""
    status, lane = item["status"]["S"], item["lane"]["S"]
    if status not in set(Status) or lane not in set(Lane):
        return None
    return Listed(
        row_key=RowKey(item["row_key"]["S"]),
        status=Status(status),
        lane=Lane(lane),
        due_ms=int(item["due_ms"]["N"]),
        group=group,
        cursor=Cursor(str(shard)),
    )


def _standing_at(row: LedgerRow) -> dict[str, Any]:
    # The time of creation distinguishes a row that expired and came back from the old one.
    return {
        "ConditionExpression": "revision = :revision AND created_ms = :created_ms",
        "ExpressionAttributeValues": _standing_values(row),
    }


def _standing_values(row: LedgerRow) -> dict[str, Any]:
    return {
        ":revision": {"N": str(row.revision)},
        ":created_ms": {"N": str(row.created_ms)},
    }


def shard_of(key: RowKey) -> int:
    """Spread the rows over the partitions of the sparse index."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") % OPEN_SHARDS


def _open_shard(group: Group, shard: int) -> str:
    return f"{group}-{shard:02}"
