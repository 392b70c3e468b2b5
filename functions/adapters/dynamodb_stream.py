"""Stream record -> change. What cannot be read becomes a rejection, never an exception."""

from collections.abc import Iterable, Mapping
from typing import Any

from functions.adapters.dynamodb_values import from_dynamodb, with_bytes
from functions.core.change import Change, Position, Rejected
from functions.core.document import read_document, tenant_of
from functions.core.identity import ItemKey, MalformedKeyError, document_id
from functions.core.settings import SourceSettings


class UnknownTableError(LookupError):
    """A record comes from a table that no source is configured for."""


class MalformedRecordError(ValueError):
    """A record does not have the shape that DynamoDB documents."""


def parse_records(
    records: Iterable[Mapping[str, Any]], sources: Iterable[SourceSettings]
) -> tuple[list[Change], list[Rejected]]:
    """Read the records of an event; keep those that name no document apart."""
    by_table = {source.table: source for source in sources}
    changes: list[Change] = []
    rejected: list[Rejected] = []
    for record in records:
        table, stream = _origin(record)
        if table not in by_table:
            raise UnknownTableError(f"no source has the table {table}; see SOURCES")
        source = by_table[table]
        data = record.get("dynamodb") or {}
        position = Position.of(stream, str(data.get("SequenceNumber", "")))
        try:
            changes.append(_change(record, data, source, position))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            event_id = str(record.get("eventID"))
            rejected.append(Rejected(source.name, event_id, position, _reason(error)))
    return changes, rejected


def _origin(record: Mapping[str, Any]) -> tuple[str, str]:
    """Read table and stream label from arn:aws:dynamodb:REGION:ACCOUNT:table/T/stream/LABEL."""
    arn = str(record.get("eventSourceARN"))
    match arn.split(":", 5)[-1].split("/", 3):
        case ["table", table, "stream", label]:
            return table, label
        case _:
            raise UnknownTableError(f"{arn} is not the ARN of a table's stream")


def _change(
    record: Mapping[str, Any], data: Mapping[str, Any], source: SourceSettings, position: Position
) -> Change:
    event = record["eventName"]
    if event not in ("INSERT", "MODIFY", "REMOVE"):
        raise MalformedRecordError(f"the record is a {event}, not an INSERT, MODIFY or REMOVE")
    image = data.get("NewImage")
    item = None if image is None else from_dynamodb(with_bytes(image))
    priority = item.get(source.priority_attribute or "") if item else None
    key = _key(data["Keys"])
    return Change(
        source=source.name,
        document_id=document_id(key, source.key),
        key=key,
        position=position,
        sequence_number=data["SequenceNumber"],
        written_ms=round(float(data["ApproximateCreationDateTime"]) * 1000),
        removed=event == "REMOVE",
        inserted=event == "INSERT",
        content=None if item is None else read_document(item, source),
        priority=None if priority is None else str(priority),
        tenant=None if item is None else tenant_of(item, source),
    )


def _key(given: Mapping[str, Any]) -> ItemKey:
    for name, value in given.items():
        match value:
            case {"S": str()} | {"N": str()} | {"B": str()} if len(value) == 1:
                continue
        raise MalformedKeyError(f"key attribute {name} is not a string, number or binary value")
    return given


def _reason(error: Exception) -> str:
    """Say what is wrong without quoting the record: it may hold text."""
    if isinstance(error, MalformedKeyError | MalformedRecordError):
        return str(error)
    if isinstance(error, KeyError):
        return f"the record has no {error.args[0]}"
    return f"the record has a value that DynamoDB does not know ({type(error).__name__})"
