"""A source's table as a whole: scanned in segments, and read by the ids of documents."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from functions.adapters.dynamodb_source import DynamoDbSource
from functions.adapters.dynamodb_values import event_key, from_dynamodb, with_bytes
from functions.adapters.store_errors import store_failures
from functions.core.failure import Failure, FailureKind
from functions.core.identity import DocumentId, ItemKey, document_id, item_key
from functions.core.scan import RefusedStartError, ScannedItem, ScannedPage
from functions.core.settings import SourceSettings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoDbTable:
    """Reads whole tables."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client = client
        self._source = DynamoDbSource(client)
        self._described = cache(self._describe)

    def scan(
        self,
        source: SourceSettings,
        *,
        segment: int,
        segments: int,
        after: ItemKey | None,
        most: int,
    ) -> ScannedPage:
        start: Any = {} if after is None else {"ExclusiveStartKey": with_bytes(after)}
        what = f"reading table {source.table}"
        with store_failures(what), _refused_start(what, after):
            # Not consistent, for half of the price: what matters is read again by its key.
            answer = self._client.scan(
                TableName=source.table, Segment=segment, TotalSegments=segments, Limit=most, **start
            )
        last = answer.get("LastEvaluatedKey")
        return ScannedPage(
            items=[_scanned(item, source) for item in answer["Items"]],
            last=event_key(last, source.key) if last else None,
        )

    def read(
        self, source: SourceSettings, documents: Sequence[DocumentId]
    ) -> dict[DocumentId, ScannedItem]:
        keys = [self.key_of(source, name) for name in documents]
        found = zip(documents, keys, self._source.read(source, keys), strict=True)
        return {
            name: ScannedItem(name, key, item)
            for name, key, item in found
            if item is not None and not isinstance(item, Failure)
        }

    def key_of(self, source: SourceSettings, document: DocumentId) -> ItemKey:
        kinds = {
            one["AttributeName"]: one["AttributeType"]
            for one in self._described(source.table)["AttributeDefinitions"]
        }
        return item_key(document, {name: kinds[name] for name in source.key})

    def count(self, source: SourceSettings) -> int:
        return int(self._describe(source.table)["ItemCount"])

    def _describe(self, table: str) -> Any:
        with store_failures(f"describing table {table}"):
            return self._client.describe_table(TableName=table)["Table"]


@contextmanager
def _refused_start(what: str, after: ItemKey | None) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if after is None or error.response["Error"]["Code"] != "ValidationException":
            raise
        message = f"{what}: it has no such key to go on behind"
        raise RefusedStartError(Failure(FailureKind.STORE_UNAVAILABLE, message)) from error


def _scanned(item: Any, source: SourceSettings) -> ScannedItem:
    key = event_key(item, source.key)
    return ScannedItem(document_id(key, source.key), key, from_dynamodb(item))
