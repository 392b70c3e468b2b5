"""The bucket of the stream's failed records -> changes.

Lambda writes its invocation record there, with the whole event in it:
https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from functions.adapters.dynamodb_stream import UnknownTableError, parse_records
from functions.adapters.store_errors import store_failures
from functions.core.change import Change, Rejected, UnreadableBatchError
from functions.core.names import FAILED_CHANGES_PREFIX
from functions.core.settings import SourceSettings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3FailedChanges:
    """Lists, reads and removes the objects that the stream's mappings have left."""

    def __init__(self, client: "S3Client", bucket: str, sources: Sequence[SourceSettings]) -> None:
        self._client = client
        self._bucket = bucket
        self._sources = sources

    def names(self) -> Iterator[str]:
        pages = self._client.get_paginator("list_objects_v2")
        with store_failures(f"listing bucket {self._bucket}"):
            for page in pages.paginate(Bucket=self._bucket, Prefix=FAILED_CHANGES_PREFIX):
                for found in page.get("Contents", []):
                    yield found["Key"]

    def read(self, name: str) -> tuple[list[Change], list[Rejected]]:
        with store_failures(f"reading bucket {self._bucket}"):
            body = self._client.get_object(Bucket=self._bucket, Key=name)["Body"].read()
        return parse_batch(body, self._sources)

    def remove(self, name: str) -> None:
        with store_failures(f"writing bucket {self._bucket}"):
            self._client.delete_object(Bucket=self._bucket, Key=name)


def parse_batch(
    body: bytes, sources: Sequence[SourceSettings]
) -> tuple[list[Change], list[Rejected]]:
    """Read the records out of an invocation record."""
    try:
        return parse_records(_records(json.loads(body)), sources)
    except UnknownTableError as error:
        raise UnreadableBatchError(str(error)) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # Without its text: a record may be quoted there.
        raise UnreadableBatchError("it is not an invocation record of a stream") from error


def _records(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    payload = record["payload"]
    event = json.loads(payload) if isinstance(payload, str) else payload
    records: list[Mapping[str, Any]] = event["Records"]
    return records
