"""DynamoDB source tables with their streams, and the changes that Lambda could not deliver."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from itertools import count
from typing import Any
from zlib import crc32

from functions.adapters.dynamodb_values import event_key, from_dynamodb, to_dynamodb, with_bytes
from functions.adapters.s3_failed_changes import parse_batch
from functions.core.change import Change, Rejected
from functions.core.failure import Failure, FailureKind
from functions.core.identity import DocumentId, ItemKey, document_id, item_key
from functions.core.ports import NO_KEY, Clock
from functions.core.scan import RefusedStartError, ScannedItem, ScannedPage
from functions.core.settings import SourceSettings

REFUSED_START = Failure(FailureKind.STORE_UNAVAILABLE, "the table has no such key to go on behind")
DIGITS = Context(prec=38)  # of a DynamoDB number


class MemoryTable:
    """Keeps items, and a stream record for every write that changes something."""

    def __init__(self, source: SourceSettings, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._numbers = count(1)
        self.arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{source.table}"
        self._types: dict[str, set[str]] | None = None  # of the key, known by the first item
        self.items: dict[tuple[str, ...], dict[str, Any]] = {}
        self.stream: list[dict[str, Any]] = []
        self.page_items = 1000  # of a scan, at most; DynamoDB ends a page after 1 MB

    def put(self, item: Mapping[str, Any]) -> None:
        """Write an item; the same item again leaves no record, as in DynamoDB."""
        stored = _canonical(to_dynamodb(item))
        name = self._name(stored)
        self._types = _types({attribute: stored[attribute] for attribute in self._source.key})
        before = self.items.get(name)
        if before != stored:
            self.items[name] = stored
            self._record("INSERT" if before is None else "MODIFY", stored)

    def delete(self, key: Mapping[str, Any]) -> None:
        """Delete an item, if it is there."""
        stored = _canonical(to_dynamodb(key))
        if self.items.pop(self._name(stored), None) is not None:
            self._record("REMOVE", stored)

    def get(self, key: ItemKey) -> dict[str, Any] | None:
        item = self.items.get(self._name(_canonical(with_bytes(key))))
        return None if item is None else from_dynamodb(item)

    def key_types(self) -> dict[str, str]:
        """Return the type of each attribute of the key; of a table without items, strings."""
        known = self._types or {}
        return {name: next(iter(known.get(name, "S"))) for name in self._source.key}

    def refuses(self, key: ItemKey) -> bool:
        """Tell whether a key has other attributes, or other types, than those of the table."""
        return set(key) != set(self._source.key) or self._types not in (None, _types(key))

    def _name(self, item: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(item[attribute]) for attribute in self._source.key)

    def _record(self, event: str, item: dict[str, Any]) -> None:
        number = next(self._numbers)
        data: dict[str, Any] = {
            "ApproximateCreationDateTime": self._clock() // 1000,
            "Keys": {attribute: item[attribute] for attribute in self._source.key},
            "SequenceNumber": f"{number}00000000000000000000",
            "StreamViewType": "NEW_IMAGE",
        }
        if event != "REMOVE":
            data["NewImage"] = item
        self.stream.append(
            {
                "eventID": f"event-{number}",
                "eventName": event,
                "eventSource": "aws:dynamodb",
                "eventSourceARN": f"{self.arn}/stream/2026-01-01T00:00:00.000",
                "dynamodb": data,
            }
        )


def _types(key: ItemKey) -> dict[str, set[str]]:
    return {name: set(value) for name, value in key.items()}


def _canonical(item: Mapping[str, Any]) -> dict[str, Any]:
    """Spell numbers as DynamoDB does: 1.50 and 1.5 are one key."""
    return {
        name: {"N": f"{Decimal(value['N']).normalize(DIGITS):f}"} if "N" in value else value
        for name, value in item.items()
    }


class MemorySource:
    """Reads tables by their source."""

    def __init__(self, tables: Mapping[str, MemoryTable]) -> None:
        self._tables = tables

    def read(
        self, source: SourceSettings, keys: Sequence[ItemKey]
    ) -> list[Mapping[str, Any] | Failure | None]:
        table = self._tables[source.name]
        return [NO_KEY if table.refuses(key) else table.get(key) for key in keys]


class MemoryTables:
    """Scans tables, and reads them by the ids of documents."""

    def __init__(self, tables: Mapping[str, MemoryTable]) -> None:
        self._tables = tables

    def scan(
        self,
        source: SourceSettings,
        *,
        segment: int,
        segments: int,
        after: ItemKey | None,
        most: int,
    ) -> ScannedPage:
        """Return the items after a key in the order of their ids, each in one segment."""
        table = self._tables[source.name]
        if after is not None and table.refuses(after):
            raise RefusedStartError(REFUSED_START)
        most = min(most, table.page_items)
        found = sorted(self._all(source).values(), key=lambda one: one.document_id)
        mine = [one for one in found if crc32(one.document_id.encode()) % segments == segment]
        if after is not None:
            mine = [one for one in mine if one.document_id > document_id(after, source.key)]
        return ScannedPage(mine[:most], mine[most - 1].key if len(mine) > most else None)

    def read(
        self, source: SourceSettings, documents: Sequence[DocumentId]
    ) -> dict[DocumentId, ScannedItem]:
        found = self._all(source)
        return {name: found[name] for name in documents if name in found}

    def key_of(self, source: SourceSettings, document: DocumentId) -> ItemKey:
        return item_key(document, self._tables[source.name].key_types())

    def count(self, source: SourceSettings) -> int:
        return len(self._tables[source.name].items)

    def _all(self, source: SourceSettings) -> dict[DocumentId, ScannedItem]:
        items = self._tables[source.name].items.values()
        scanned = [(event_key(item, source.key), from_dynamodb(item)) for item in items]
        named = [ScannedItem(document_id(key, source.key), key, item) for key, item in scanned]
        return {one.document_id: one for one in named}


class MemoryFailedChanges:
    """Keeps invocation records by name."""

    def __init__(self, sources: Sequence[SourceSettings]) -> None:
        self._sources = sources
        self.objects: dict[str, bytes] = {}

    def names(self) -> Iterator[str]:
        yield from sorted(self.objects)

    def read(self, name: str) -> tuple[list[Change], list[Rejected]]:
        return parse_batch(self.objects[name], self._sources)

    def remove(self, name: str) -> None:
        self.objects.pop(name, None)
