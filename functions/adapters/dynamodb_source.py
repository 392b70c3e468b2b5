"""The user's tables, read only."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from functions.adapters.dynamodb_batch import RefusedKeysError, batch_get
from functions.adapters.dynamodb_values import from_dynamodb, with_bytes
from functions.core.failure import Failure
from functions.core.identity import ItemKey
from functions.core.ports import NO_KEY
from functions.core.settings import SourceSettings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


Name = tuple[Any, ...]


class DynamoDbSource:
    """Reads the current items of a source."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client = client

    def read(
        self, source: SourceSettings, keys: Sequence[ItemKey]
    ) -> list[Mapping[str, Any] | Failure | None]:
        # A key of other attributes would fail all the others.
        fitting = [with_bytes(key) for key in keys if set(key) == set(source.key)]
        found = self._found(source, {_name(source, key): key for key in fitting})
        return [
            found.get(_name(source, with_bytes(key))) if set(key) == set(source.key) else NO_KEY
            for key in keys
        ]

    def _found(
        self, source: SourceSettings, keys: Mapping[Name, Mapping[str, Any]]
    ) -> dict[Name, Mapping[str, Any] | Failure]:
        """Read the items that exist; where a key is refused, halve until it stands alone."""
        try:
            items = list(batch_get(self._client, source.table, list(keys.values())))
        except RefusedKeysError:
            if len(keys) == 1:
                return dict.fromkeys(keys, NO_KEY)
            names, middle = list(keys), len(keys) // 2
            halves = [names[:middle], names[middle:]]
            read = [self._found(source, {name: keys[name] for name in half}) for half in halves]
            return read[0] | read[1]
        return {_name(source, item): from_dynamodb(item) for item in items}


def _name(source: SourceSettings, item: Mapping[str, Any]) -> Name:
    """Compare keys by value: DynamoDB spells the number 1.0 as 1."""
    key = from_dynamodb({attribute: item[attribute] for attribute in source.key})
    return tuple(key.values())
