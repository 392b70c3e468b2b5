"""The user's tables, read only."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from functions.adapters.dynamodb_batch import batch_get
from functions.adapters.dynamodb_values import from_dynamodb
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
        """Return the items in the order of the keys."""
        wanted = {_name(key): key for key in keys}
        found = {
            _name({attribute: item[attribute] for attribute in source.key}): item
            for item in batch_get(self._client, source.table, list(wanted.values()))
        }
        items = [found.get(_name(key)) for key in keys]
        return [None if item is None else from_dynamodb(item) for item in items]


def _name(key: ItemKey) -> str:
    return json.dumps(key, sort_keys=True)
