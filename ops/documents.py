"""One document: write it, and see what became of it."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal, DecimalException
from typing import TYPE_CHECKING, Any

import click

from functions.core.identity import document_id
from functions.core.ledger_row import LedgerRow
from ops.document_rows import read_row
from ops.frame import DOCUMENT, SOURCE, TARGET, Noun
from ops.output import Answer, UsageError, moment, written
from ops.proposal import Proposal

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("Documents")


class Put(Answer):
    """A document that was written to its table."""

    table: str
    document: str
    see: str

    def view(self) -> Iterable[str]:
        return [f"written to {self.table}: see `{self.see}`"]


class PastError(Answer):
    """One error in the history of a document."""

    at: datetime
    kind: str
    message: str


class DocumentStatus(Answer):
    """What the ledger knows about a document."""

    row: str
    status: str
    reason: str | None
    version: int
    operation: str
    lane: str
    attempts: int
    max_attempts: int
    chunks_done: int
    chunks_total: int
    chunks_failed: int
    tokens: int
    model: str | None
    times: dict[str, datetime]
    errors: tuple[PastError, ...]

    def view(self) -> Iterable[str]:
        return [
            f"{self.row}: {self.status}" + (f" ({self.reason})" if self.reason else ""),
            f"  version    {self.version} ({self.operation}, lane {self.lane})",
            f"  attempts   {self.attempts} of {self.max_attempts or '-'}",
            f"  chunks     {self.chunks_done} of {self.chunks_total}, {self.chunks_failed} failed,"
            f" {self.tokens} tokens paid, model {self.model or '-'}",
            *(f"  {name:<10} {written(at)}" for name, at in self.times.items()),
            *(f"  error      {written(e.at)} {e.kind}: {e.message}" for e in self.errors),
        ]


@NOUN.change_command(
    click.Argument(["item"], help="The item as a JSON object."),
    SOURCE,
    examples=["""put '{"id": "a", "title": "Hello", "body": "World"}'"""],
)
def put(deployment: "Deployment", item: str, *, source: str | None = None) -> Proposal[Put]:
    """Write a document to its table, as an application would."""
    settings = deployment.source(source)
    values = _item(item, settings.key)
    name = document_id({key: values[key] for key in settings.key}, settings.key)

    def act() -> Put:
        from botocore.exceptions import ClientError

        try:
            deployment.client("dynamodb").put_item(TableName=settings.table, Item=values)
        except ClientError as error:
            raise UsageError(f"DynamoDB refused the item: {error}") from error
        see = deployment.status_command(name, settings.name)
        return Put(table=settings.table, document=name, see=see)

    return Proposal(f"write {name} to table {settings.table}", 1, act)


def _item(item: str, key: Sequence[str]) -> dict[str, Any]:
    from functions.adapters.dynamodb_values import to_dynamodb

    try:
        parsed = json.loads(item, parse_float=Decimal, parse_constant=_refuse)
    except ValueError as error:
        raise UsageError(f"the item is not JSON: {error}") from None
    if not isinstance(parsed, dict) or any(name not in parsed for name in key):
        raise UsageError(f"the item is a JSON object with at least the key {', '.join(key)}")
    try:
        return to_dynamodb(parsed)
    except DecimalException:
        raise UsageError(
            "the item has a number that DynamoDB cannot hold: more than 38 digits, or too large"
        ) from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


@NOUN.stack_command(
    DOCUMENT,
    SOURCE,
    TARGET,
    examples=["status tortoise-and-hare", "status a --stage prod --source articles"],
)
def status(
    deployment: "Deployment",
    document: str,
    *,
    source: str | None = None,
    target: str | None = None,
) -> DocumentStatus:
    """Show the state and the error history of one document."""
    return status_of(read_row(deployment, document, source=source, target=target))


def status_of(row: LedgerRow) -> DocumentStatus:
    """Describe a row of the ledger."""
    times = {
        "created": row.created_ms,
        "queued": row.queued_ms,
        "attempted": row.progress.last_attempt_ms,
        "next try": row.progress.next_attempt_ms,
        "completed": row.outcome.completed_ms,
        "failed": row.outcome.failed_ms,
    }
    return DocumentStatus(
        row=row.row_key,
        status=row.status,
        reason=row.outcome.reason,
        version=row.task.version,
        operation=row.operation,
        lane=row.task.lane,
        attempts=row.progress.attempts,
        max_attempts=row.progress.max_attempts,
        chunks_done=row.indexed.chunks_done,
        chunks_total=row.indexed.chunks_total,
        chunks_failed=row.indexed.chunks_failed,
        tokens=row.indexed.tokens,
        model=row.indexed.model,
        times={name: moment(at_ms) for name, at_ms in times.items() if at_ms},
        errors=tuple(
            PastError(at=moment(e.at_ms), kind=e.kind, message=e.message) for e in row.errors
        ),
    )
