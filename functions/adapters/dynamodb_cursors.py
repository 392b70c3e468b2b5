"""Where the sweep's jobs were cut off: small items beside the rows of the ledger table."""

from typing import TYPE_CHECKING

from functions.adapters.store_errors import store_failures
from functions.core.names import CONTROL_PREFIX
from functions.core.ports import START, Cursor

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoDbCursors:
    """Remembers a cursor for each job; the last write wins."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, job: str) -> Cursor:
        with store_failures(f"reading table {self._table}"):
            answer = self._client.get_item(TableName=self._table, Key=_key(job))
        return Cursor(answer["Item"]["cursor"]["S"]) if "Item" in answer else START

    def write(self, job: str, cursor: Cursor) -> None:
        with store_failures(f"writing table {self._table}"):
            self._client.put_item(
                TableName=self._table, Item={**_key(job), "cursor": {"S": cursor}}
            )


def _key(job: str) -> dict[str, dict[str, str]]:
    # No target has this name, and none has a slash in its name.
    return {"row_key": {"S": f"{CONTROL_PREFIX}/sweep/{job}"}}
