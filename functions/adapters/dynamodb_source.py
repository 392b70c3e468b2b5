"""The user's tables, read only."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from functions.adapters.dynamodb_batch import batch_get
from functions.adapters.dynamodb_values import from_dynamodb, with_bytes
from functions.core.identity import ItemKey
from functions.core.settings import SourceSettings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoDbSource:
    """Reads the current items of a source."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client = client

    def read(
        self, source: SourceSettings, keys: Sequence[ItemKey]
    ) -> list[Mapping[str, Any] | None]:
        # A key of other attributes names no item; asking for it would fail all the others.
        fitting = [with_bytes(key) for key in keys if set(key) == set(source.key)]
        wanted = {_name(source, key): key for key in fitting}
        found = {
            _name(source, item): from_dynamodb(item)
            for item in batch_get(self._client, source.table, list(wanted.values()))
        }
        return [
            found.get(_name(source, with_bytes(key))) if set(key) == set(source.key) else None
            for key in keys
        ]


def _name(source: SourceSettings, item: Mapping[str, Any]) -> tuple[Any, ...]:
    """Compare keys by value: DynamoDB spells the number 1.0 as 1."""
    key = from_dynamodb({attribute: item[attribute] for attribute in source.key})
    return tuple(key.values())
