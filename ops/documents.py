"""One document: write it, and see its life."""

import json
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal, DecimalException
from typing import Any

from botocore.exceptions import ClientError

from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.identity import DocumentId, document_id, row_key
from functions.core.ledger_row import LedgerRow
from ops.deployment import Deployment, UsageError


def put(deployment: Deployment, item: str, *, source: str | None) -> list[str]:
    """Write an item, given as JSON, to its source's table."""
    settings = deployment.source(source)
    values = _item(item, settings.key)
    try:
        deployment.client("dynamodb").put_item(TableName=settings.table, Item=values)
    except ClientError as error:
        raise UsageError(f"DynamoDB refused the item: {error}") from error
    name = document_id({key: values[key] for key in settings.key}, settings.key)
    return [f"written to {settings.table}: see `embedq status {shlex.quote(name)}`"]


def _item(item: str, key: Sequence[str]) -> dict[str, Any]:
    try:
        parsed = json.loads(item, parse_float=Decimal, parse_constant=_refuse)
    except ValueError as error:
        raise UsageError(f"the item is not JSON: {error}") from None
    if not isinstance(parsed, dict) or any(name not in parsed for name in key):
        raise UsageError(f"the item is a JSON object with at least the key {', '.join(key)}")
    try:
        return to_dynamodb(parsed)
    except DecimalException:
        raise UsageError("the item has a number of more digits than DynamoDB's 38") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def status(
    deployment: Deployment, document: str, *, source: str | None, target: str | None
) -> list[str]:
    """Tell what the ledger knows about a document."""
    key = row_key(
        deployment.target(target).name, deployment.source(source).name, DocumentId(document)
    )
    row = deployment.ledger.read([key]).get(key)
    if row is None:
        raise UsageError(
            f"the ledger has no row {key}: it was never written, it was completed more than"
            " 30 days ago, or deleted more than a day ago"
        )
    return describe(row)


def describe(row: LedgerRow) -> list[str]:
    """Write a row for people."""
    indexed, reason = row.indexed, row.outcome.reason
    lines = [
        f"{row.row_key}: {row.status}" + (f" ({reason})" if reason else ""),
        f"  version    {row.task.version} ({row.operation}, lane {row.task.lane})",
        f"  attempts   {row.progress.attempts} of {row.progress.max_attempts or '-'}",
        f"  chunks     {indexed.chunks_done} of {indexed.chunks_total},"
        f" {indexed.chunks_failed} failed, {indexed.tokens} tokens paid,"
        f" model {indexed.model or '-'}",
    ]
    lines += [
        f"  {name:<10} {moment(at_ms)}"
        for name, at_ms in (
            ("created", row.created_ms),
            ("queued", row.queued_ms),
            ("attempted", row.progress.last_attempt_ms),
            ("next try", row.progress.next_attempt_ms),
            ("completed", row.outcome.completed_ms),
            ("failed", row.outcome.failed_ms),
        )
        if at_ms
    ]
    lines += [f"  error      {moment(e.at_ms)} {e.kind}: {e.message}" for e in row.errors]
    return lines


def moment(at_ms: int) -> str:
    """Write a time for people."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
