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
        names = [_name_of_key(source, key) for key in keys]
        # A key that this table cannot have would fail all the others.
        fitting = {
            name: with_bytes(key) for name, key in zip(names, keys, strict=True) if name is not None
        }
        found = self._found(source, fitting)
        return [NO_KEY if name is None else found.get(name) for name in names]

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


def _name_of_key(source: SourceSettings, key: ItemKey) -> Name | None:
    """Return the name of a key; None: it has other attributes, or is spelled as no such value."""
    try:
        return _name(source, with_bytes(key)) if set(key) == set(source.key) else None
    except (ValueError, ArithmeticError):
        return None


def _name(source: SourceSettings, item: Mapping[str, Any]) -> Name:
    """Compare keys by value: DynamoDB spells the number 1.0 as 1."""
    key = from_dynamodb({attribute: item[attribute] for attribute in source.key})
    return tuple(key.values())
