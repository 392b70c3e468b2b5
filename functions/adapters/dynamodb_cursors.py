"""Where the sweep's jobs were cut off: small items beside the rows of the ledger table."""

from typing import TYPE_CHECKING

from functions.adapters.store_errors import store_failures

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoDbCursors:
    """Remembers a shard for each job; the last one to write is right."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, job: str) -> int:
        """Return the shard to begin with; 0 where nothing is known."""
        with store_failures(f"reading table {self._table}"):
            answer = self._client.get_item(TableName=self._table, Key=_key(job))
        return int(answer["Item"]["shard"]["N"]) if "Item" in answer else 0

    def write(self, job: str, shard: int) -> None:
        """Remember the shard that the next run begins with."""
        with store_failures(f"writing table {self._table}"):
            self._client.put_item(
                TableName=self._table, Item={**_key(job), "shard": {"N": str(shard)}}
            )


def _key(job: str) -> dict[str, dict[str, str]]:
    # No target is called "control", and none has a slash in its name.
    return {"row_key": {"S": f"control/sweep/{job}"}}
