"""BatchExecuteStatement in moto, as the ledger uses it; importing this puts it there.

moto's own takes no REMOVE beside SET, and leaves a condition that is not met without an error.
This one puts the item as the statement leaves it; the contract suite of the ledger compares it
with DynamoDB Local.
"""

from typing import Any

from moto.dynamodb.exceptions import MockValidationException
from moto.dynamodb.models import DynamoDBBackend

from benchmarks.statements import Update, update_of

OWN = DynamoDBBackend.batch_execute_statement


def batch_execute_statement(
    self: DynamoDBBackend, statements: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Run updates; those of one key twice are refused together."""
    updates = [update_of(statement) for statement in statements]
    if len({str(update.key) for update in updates}) < len(updates):
        raise MockValidationException("Provided list of item keys contains duplicates")
    return [_run(self, update) for update in updates]


def _run(backend: DynamoDBBackend, update: Update) -> dict[str, Any]:
    found = backend.get_item(update.table, update.key)
    standing: dict[str, Any] = found.to_json()["Attributes"] if found else {}
    met = {name: standing.get(name) for name in update.conditions}
    if not standing:
        return {"Error": {"Code": "ConditionalCheckFailed"}}
    if met != update.conditions:
        return {"Error": {"Code": "ConditionalCheckFailed", "Item": standing}}
    kept = {name: one for name, one in standing.items() if name not in update.removes}
    try:
        backend.put_item(update.table, {**kept, **update.sets})
    except MockValidationException as refused:
        return {"Error": {"Code": "ValidationError", "Message": str(refused)}}
    return {"TableName": update.table}


DynamoDBBackend.batch_execute_statement = batch_execute_statement  # type: ignore[method-assign]
