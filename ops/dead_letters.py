"""Documents that need a person, as the ledger explains them. No message is received here."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from functions.core.ledger_row import LedgerRow, Status
from ops.causes import Documents, by_cause, cause_of, failed_at
from ops.document_rows import read_row
from ops.documents import DocumentStatus, status_of
from ops.frame import DOCUMENT, SOURCE, TARGET, Noun
from ops.output import Answer, UsageError, moment, table, written
from ops.selection import OPTIONS, Selection

if TYPE_CHECKING:
    from ops.deployment import Deployment

SHOWN = 20
NOUN = Noun("Dead letters", group="dead", summary="Documents that need a person.")


class FailedDocument(Answer):
    """A document that failed, or was indexed without some of its chunks."""

    source: str
    document: str
    status: str
    type: str
    at: datetime
    attempts: int


class CauseLine(Answer):
    """Why documents failed, how many, and what to do."""

    cause: str
    kind: str
    message: str
    number: int
    first: datetime
    last: datetime
    remedy: str


class Causes(Answer):
    """The causes of one or all targets, the most frequent first."""

    causes: tuple[CauseLine, ...]

    def view(self) -> Iterable[Any]:
        if not self.causes:
            return ["no failed document"]
        rows = [
            (one.cause, one.number, one.kind, one.message, written(one.first), written(one.last))
            for one in self.causes
        ]
        remedies = {one.kind: one.remedy for one in self.causes}
        return [
            table(["cause", "number", "kind", "message", "first", "last"], rows),
            "",
            table(["kind", "what to do"], list(remedies.items())),
        ]


class CauseDocuments(CauseLine):
    """The same, with the documents."""

    documents: tuple[FailedDocument, ...]


class TargetDeadLetters(Answer):
    """The failed documents of one target, the most frequent cause first."""

    target: str
    dead_letters: int
    failed_documents: int
    incomplete_documents: int
    causes: tuple[CauseDocuments, ...]

    def view(self) -> Iterable[Any]:
        incomplete = self.incomplete_documents
        yield (
            f"target {self.target}: {self.dead_letters} dead letters,"
            f" {self.failed_documents} failed documents"
            + (f", {incomplete} without some chunks" if incomplete else "")
        )
        for one in self.causes:
            yield ""
            yield f"cause {one.cause}, {one.number} documents: {one.kind}: {one.message}"
            yield f"what to do: {one.remedy}"
            rows = [
                (each.document, each.source, each.status, each.type, written(each.at))
                for each in one.documents[:SHOWN]
            ]
            yield table(["document", "source", "status", "type", "since"], rows)
            if one.number > SHOWN:
                yield f"and {one.number - SHOWN} more: --json has all"


class DeadLetters(Answer):
    """The failed documents of all targets."""

    targets: tuple[TargetDeadLetters, ...]

    def view(self) -> Iterable[Any]:
        for number, one in enumerate(self.targets):
            yield from [""] if number else []
            yield from one.view()


class ShownDocument(Answer):
    """One failed document: its state, its cause and what to do."""

    status: DocumentStatus
    cause: str
    remedy: str
    requeue: str  # the command that sends it again

    def view(self) -> Iterable[str]:
        yield from self.status.view()
        yield f"  cause      {self.cause}"
        yield f"  what to do {self.remedy}"
        yield f"  then       {self.requeue}"


@NOUN.stack_command(
    *OPTIONS,
    examples=["dead list", "dead list --since 2h --type news", "dead list --stage prod --json"],
    name="list",
)
def dead_list(deployment: "Deployment", **chosen: Any) -> DeadLetters:
    """List failed and incomplete documents, grouped by cause."""
    selection = Selection(**chosen)
    rows = selection.rows(deployment)
    names = [deployment.target(selection.target).name] if selection.target else deployment.targets
    return DeadLetters(targets=tuple(_target(deployment, name, rows) for name in names))


@NOUN.stack_command(*OPTIONS, examples=["dead causes", "dead causes --since 1d --stage prod"])
def causes(deployment: "Deployment", **chosen: Any) -> Causes:
    """Show why documents failed: how many, first and last, and what to do."""
    found = by_cause(Selection(**chosen).rows(deployment))
    return Causes(causes=tuple(CauseLine(**described(one)) for one in found))


@NOUN.stack_command(
    DOCUMENT,
    SOURCE,
    TARGET,
    examples=["dead show tortoise-and-hare", "dead show a --stage prod --source articles"],
)
def show(
    deployment: "Deployment",
    document: str,
    *,
    source: str | None = None,
    target: str | None = None,
) -> ShownDocument:
    """Show one failed document: its errors, its cause and what to do."""
    row = read_row(deployment, document, source=source, target=target)
    if not (row.status.is_failed or row.status is Status.PARTIALLY_COMPLETED):
        raise UsageError(f"{row.row_key} is {row.status}, not failed: see `embedq status`")
    place = ["--source", row.task.source, "--target", row.task.target]
    return ShownDocument(
        status=status_of(row),
        cause=f"{cause_of(row).id}, {cause_of(row)}",
        remedy=cause_of(row).remedy,
        requeue=deployment.document_command(["dead", "requeue"], row.task.document_id, place),
    )


def _target(deployment: "Deployment", target: str, rows: Iterable[LedgerRow]) -> TargetDeadLetters:
    mine = [row for row in rows if row.task.target == target]
    failed = sum(row.status.is_failed for row in mine)
    return TargetDeadLetters(
        target=target,
        dead_letters=deployment.count_dead_letters(target),
        failed_documents=failed,
        incomplete_documents=len(mine) - failed,
        causes=tuple(
            CauseDocuments(**described(one), documents=tuple(map(failed_document, one.rows)))
            for one in by_cause(mine)
        ),
    )


def described(one: Documents) -> dict[str, Any]:
    """Say what a cause is, how often it was seen and when, and what to do."""
    return {
        "cause": one.cause.id,
        "kind": one.cause.kind,
        "message": one.cause.message,
        "number": len(one.rows),
        "first": moment(one.first_ms),
        "last": moment(one.last_ms),
        "remedy": one.cause.remedy,
    }


def failed_document(row: LedgerRow) -> FailedDocument:
    """Describe a row for a list."""
    return FailedDocument(
        source=row.task.source,
        document=row.task.document_id,
        status=row.status,
        type=row.type,
        at=moment(failed_at(row)),
        attempts=row.progress.attempts,
    )
