"""The ledger's table as infrastructure/ledger.py declares it, for engines that have no stack."""

from typing import Any

from tests import moto_statements  # noqa: F401  (moto writes rows as DynamoDB does)


def create_ledger_table(dynamodb: Any, name: str) -> None:
    """Create the table with its sparse index."""
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "row_key", "KeyType": "HASH"}],
        AttributeDefinitions=[
            {"AttributeName": "row_key", "AttributeType": "S"},
            {"AttributeName": "open_shard", "AttributeType": "S"},
            {"AttributeName": "due_ms", "AttributeType": "N"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "open",
                "KeySchema": [
                    {"AttributeName": "open_shard", "KeyType": "HASH"},
                    {"AttributeName": "due_ms", "KeyType": "RANGE"},
                ],
                "Projection": {
                    "ProjectionType": "INCLUDE",
                    "NonKeyAttributes": ["status", "lane"],
                },
            }
        ],
    )
