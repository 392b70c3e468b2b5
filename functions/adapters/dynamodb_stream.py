"""Stream record -> change. What cannot be read becomes a rejection, never an exception."""

from collections.abc import Iterable, Mapping
from typing import Any

from functions.adapters.dynamodb_values import from_dynamodb
from functions.core.change import Change, Position, Rejected
from functions.core.document import read_document
from functions.core.identity import MalformedKeyError, document_id
from functions.core.settings import SourceSettings


class UnknownTableError(LookupError):
    """A record comes from a table that no source is configured for."""


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
        data = record["dynamodb"]
        position = Position.of(stream, data["SequenceNumber"])
        try:
            changes.append(_change(record, source, position))
        except (MalformedKeyError, KeyError, TypeError, AttributeError, ValueError) as error:
            reason = str(error) if isinstance(error, MalformedKeyError) else repr(error)
            rejected.append(Rejected(source.name, str(record.get("eventID")), position, reason))
    return changes, rejected


def _origin(record: Mapping[str, Any]) -> tuple[str, str]:
    """Read table and stream label from arn:aws:dynamodb:REGION:ACCOUNT:table/T/stream/LABEL."""
    _, table, _, label = record["eventSourceARN"].split(":", 5)[5].split("/", 3)
    return table, label


def _change(record: Mapping[str, Any], source: SourceSettings, position: Position) -> Change:
    data = record["dynamodb"]
    image = data.get("NewImage")
    item = None if image is None else from_dynamodb(image)
    priority = item.get(source.priority_attribute or "") if item else None
    return Change(
        source=source.name,
        document_id=document_id(data["Keys"], source.key),
        key=data["Keys"],
        position=position,
        sequence_number=data["SequenceNumber"],
        written_ms=round(float(data["ApproximateCreationDateTime"]) * 1000),
        removed=record["eventName"] == "REMOVE",
        inserted=record["eventName"] == "INSERT",
        content=None if item is None else read_document(item, source),
        priority=None if priority is None else str(priority),
    )
