"""One document: write it, and see its life."""

import json
from datetime import UTC, datetime
from typing import Any

from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.identity import DocumentId, row_key
from functions.core.ledger_row import LedgerRow
from ops.deployment import Deployment, UsageError


def put(deployment: Deployment, item: str, *, source: str | None) -> list[str]:
    """Write an item, given as JSON, to its source's table."""
    settings = deployment.source(source)
    try:
        parsed: Any = json.loads(item, parse_float=str)
    except ValueError as error:
        raise UsageError(f"the item is not JSON: {error}") from None
    missing = [name for name in settings.key if name not in (parsed or {})]
    if not isinstance(parsed, dict) or missing:
        raise UsageError(
            f"the item is a JSON object with at least the key {', '.join(settings.key)}"
        )
    deployment.client("dynamodb").put_item(TableName=settings.table, Item=to_dynamodb(parsed))
    return [f"written to {settings.table}: see `embedq status {parsed[settings.key[0]]}`"]


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
            f"the ledger has no row {key}: it was never written, or it was completed more than"
            " 30 days ago"
        )
    return describe(row)


def describe(row: LedgerRow) -> list[str]:
    """Write a row for people."""
    lines = [
        f"{row.row_key}: {row.status}" + (f" ({row.reason})" if row.reason else ""),
        f"  version    {row.version} ({row.operation}, lane {row.lane})",
        f"  attempts   {row.attempts} of {row.max_attempts or '-'}",
        f"  chunks     {row.chunks_done} of {row.chunks_total}, {row.chunks_failed} failed,"
        f" {row.tokens} tokens paid, model {row.model or '-'}",
    ]
    lines += [
        f"  {name:<10} {moment(at_ms)}"
        for name, at_ms in (
            ("created", row.created_ms),
            ("queued", row.queued_ms),
            ("attempted", row.last_attempt_ms),
            ("next try", row.next_attempt_ms),
            ("completed", row.completed_ms),
            ("failed", row.failed_ms),
        )
        if at_ms
    ]
    lines += [f"  error      {moment(e.at_ms)} {e.kind}: {e.message}" for e in row.errors]
    return lines


def moment(at_ms: int) -> str:
    """Write a time for people."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
