"""One document: write it, and see what became of it."""

import json
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import Field

from functions.core.ledger_row import LedgerRow, Status
from ops.breakers import stopped, throttled
from ops.document_rows import read_row
from ops.frame import DOCUMENT, SOURCE, TARGET, Noun
from ops.items import find_item, id_of, plain, read_items, read_key, spell_key
from ops.output import Answer, UsageError, moment, progress, written
from ops.proposal import Proposal
from ops.waiting import SECONDS, waiting

if TYPE_CHECKING:
    from ops.deployment import Deployment

NOUN = Noun("Documents")
MOST_SKIPPED = 5  # are named


class Put(Answer):
    """Documents that were written to their table."""

    table: str
    documents: tuple[str, ...]
    see: str  # the command that shows what became of the first one
    # None: it was not waited for, or no document is to be found.
    found_after_seconds: float | None = None
    skipped: dict[str, str] = Field(default_factory=dict)  # why, by document; if it was waited for

    def view(self) -> Iterable[str]:
        number = len(self.documents)
        what = "" if number == 1 else f"{number} documents "
        if self.found_after_seconds is not None:
            how = f"written to {self.table}, and found after {self.found_after_seconds:.1f} s"
            yield f"{what}{how}" + (", but for those that are skipped" if self.skipped else "")
        elif self.skipped:
            yield f"{what}written to {self.table}, and skipped: no search finds it"
        else:
            yield f"{what}written to {self.table}: see `{self.see}`"
        for document, reason in islice(self.skipped.items(), MOST_SKIPPED):
            yield f"{document} is skipped: {reason}"
        if len(self.skipped) > MOST_SKIPPED:
            yield f"and {len(self.skipped) - MOST_SKIPPED} more"


class Deleted(Answer):
    """A document that was deleted from its table."""

    table: str
    document: str
    see: str

    def view(self) -> Iterable[str]:
        return [f"deleted from {self.table}: see `{self.see}`"]


class GotItem(Answer):
    """The item of a document, as the table has it."""

    table: str
    document: str
    item: dict[str, Any]

    def view(self) -> Iterable[str]:
        return [json.dumps(self.item, ensure_ascii=False, indent=2)]


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
    stopped: tuple[str, ...] = ()  # why its target does no work now, or sends no request

    @property
    def is_waiting(self) -> bool:
        return self.status in (Status.PENDING, Status.PROCESSING) or "next try" in self.times

    def view(self) -> Iterable[str]:
        return [
            f"{self.row}: {self.status}" + (f" ({self.reason})" if self.reason else ""),
            f"  version    {self.version} ({self.operation}, lane {self.lane})",
            f"  attempts   {self.attempts} of {self.max_attempts or '-'}",
            f"  chunks     {self.chunks_done} of {self.chunks_total}, {self.chunks_failed} failed,"
            f" {self.tokens} tokens paid, model {self.model or '-'}",
            *(f"  {name:<10} {written(at)}" for name, at in self.times.items()),
            *(f"  error      {written(e.at)} {e.kind}: {e.message}" for e in self.errors),
            *(f"  waits      {why}" for why in self.stopped if self.is_waiting),
        ]


@NOUN.change_command(
    click.Argument(["item"], required=False, help="The item as a JSON object."),
    click.Option(
        ["--file"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write many: a file with one JSON object a line, or - for stdin.",
    ),
    click.Option(["--wait"], is_flag=True, help="Wait until a search finds all of them."),
    SECONDS,
    SOURCE,
    examples=[
        """put '{"id": "a", "title": "Hello", "body": "World"}'""",
        "put --file articles.jsonl --wait",
        "generate-items | embedq put --file -",
    ],
)
def put(
    deployment: "Deployment",
    item: str | None = None,
    *,
    file: Path | None = None,
    wait: bool = False,
    seconds: float = 300.0,
    source: str | None = None,
) -> Proposal[Put]:
    """Write documents to their table, as an application would."""
    settings = deployment.source(source)
    items = read_items(item, file, settings)
    keys = [spell_key(one, settings) for one in items]
    names = [id_of(key, settings) for key in keys]
    what = names[0] if len(names) == 1 else f"{len(names)} documents"

    def act() -> Put:
        began = time.monotonic()
        for number, one in enumerate(progress(items, "writing"), 1):
            _put(deployment, settings.table, one, number)
        chosen = dict(zip(names, keys, strict=True)).items() if wait else ()
        waited = [waiting(deployment, settings, *one).until_found(seconds) for one in chosen]
        is_found = any(one.found for one in waited)
        return Put(
            table=settings.table,
            documents=tuple(names),
            see=deployment.status_command(names[0], settings.name) if names else "embedq stats",
            found_after_seconds=round(time.monotonic() - began, 2) if is_found else None,
            skipped={one.document: one.skipped for one in waited if one.skipped},
        )

    return Proposal(f"write {what} to table {settings.table}", len(set(names)), act)


def _put(deployment: "Deployment", table: str, item: Mapping[str, Any], number: int) -> None:
    from botocore.exceptions import ClientError

    try:
        deployment.dynamodb.put_item(TableName=table, Item=item)
    except ClientError as error:
        before = f", after {number - 1} that are written" if number > 1 else ""
        raise UsageError(f"DynamoDB refused item {number}{before}: {error}") from error


@NOUN.stack_command(
    DOCUMENT, SOURCE, examples=["get tortoise-and-hare", "get 'user|2026-01' --source messages"]
)
def get(deployment: "Deployment", document: str, *, source: str | None = None) -> GotItem:
    """Show the item of a document, as its table has it."""
    settings = deployment.source(source)
    name, key = read_key(deployment, settings, document)
    item = find_item(deployment, settings, key)
    if item is None:
        raise UsageError(f"table {settings.table} has no item {document!r}")
    return GotItem(table=settings.table, document=name, item=plain(item))


@NOUN.change_command(
    DOCUMENT, SOURCE, examples=["delete tortoise-and-hare", "delete a --stage dev --dry-run"]
)
def delete(
    deployment: "Deployment", document: str, *, source: str | None = None
) -> Proposal[Deleted]:
    """Delete a document from its table, as an application would; it leaves the search."""
    settings = deployment.source(source)
    name, key = read_key(deployment, settings, document)
    if find_item(deployment, settings, key) is None:
        raise UsageError(f"table {settings.table} has no item {document!r}")

    def act() -> Deleted:
        deployment.dynamodb.delete_item(TableName=settings.table, Key=key)
        see = deployment.status_command(name, settings.name)
        return Deleted(table=settings.table, document=name, see=see)

    return Proposal(f"delete {name} from table {settings.table}", 1, act)


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
    row = read_row(deployment, document, source=source, target=target)
    goal = row.task.target
    return status_of(row, stopped=(*stopped(deployment, goal), *throttled(deployment, goal)))


def status_of(row: LedgerRow, *, stopped: tuple[str, ...] = ()) -> DocumentStatus:
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
        stopped=stopped,
    )
