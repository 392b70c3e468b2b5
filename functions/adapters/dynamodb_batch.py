"""BatchGetItem in full: its limit of 100 keys and what it left unprocessed."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from functions.adapters.store_errors import store_failures
from functions.core.batches import batches
from functions.core.failure import Failure, FailureError, FailureKind

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class RefusedKeysError(FailureError):
    """A key is not one of the table: one such key fails its whole batch."""


MAX_KEYS = 100
# An answer stops at 16 MB: 100 items of 400 KB come in three.
MAX_ROUNDS = 8
PAUSE_SECONDS = 0.02


def batch_get(
    client: "DynamoDBClient", table: str, keys: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the items that exist, read consistently, in no order."""
    for part in batches(keys, MAX_KEYS):
        wanted: Any = {table: {"Keys": part, "ConsistentRead": True}}
        for number in range(MAX_ROUNDS):
            with store_failures(f"reading table {table}"), _refused_keys(table):
                answer = client.batch_get_item(RequestItems=wanted)
            yield from answer["Responses"].get(table, [])
            wanted = answer["UnprocessedKeys"]
            if not wanted:
                break
            time.sleep(random.uniform(0, PAUSE_SECONDS * 2**number))
        else:
            # Left over and over again is being throttled: the queue does the waiting.
            raise FailureError(
                Failure(FailureKind.STORE_UNAVAILABLE, f"reading table {table}: keys left over")
            )


@contextmanager
def _refused_keys(table: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise
        failure = Failure(FailureKind.STORE_UNAVAILABLE, f"table {table} refuses a key")
        raise RefusedKeysError(failure) from error
