"""Dead letters, as the ledger explains them. No message is received: receiving hides it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from functions.core.ledger_row import Group, LedgerRow, Status
from ops.frame import Noun
from ops.output import Answer, table

if TYPE_CHECKING:
    from ops.deployment import Deployment

SHOWN = 20
NEXT = "What to do: docs/operations.md, Dead letters"
NOUN = Noun("Dead letters", group="dead", summary="Documents that need a person.")


class Cause(Answer):
    """Why documents failed, and which."""

    cause: str
    documents: tuple[str, ...]


class TargetDeadLetters(Answer):
    """The failed documents of one target, the most frequent cause first."""

    target: str
    dead_letters: int
    failed_documents: int
    causes: tuple[Cause, ...]


class DeadLetters(Answer):
    """The failed documents of all targets."""

    targets: tuple[TargetDeadLetters, ...]

    def view(self) -> Iterable[Any]:
        for one in self.targets:
            yield (
                f"target {one.target}: {one.dead_letters} dead letters,"
                f" {one.failed_documents} failed documents"
            )
            if one.causes:
                rows = [(len(c.documents), c.cause, _some(c.documents)) for c in one.causes]
                yield table(["number", "cause", "documents"], rows)
            if one.dead_letters or one.causes:
                yield NEXT


@NOUN.stack_command(
    examples=["dead list", "dead list --stage prod --json"], name="list", only_reads=True
)
def dead_list(deployment: "Deployment") -> DeadLetters:
    """List failed documents, grouped by cause."""
    return DeadLetters(targets=tuple(_target(deployment, name) for name in deployment.targets))


def _target(deployment: "Deployment", target: str) -> TargetDeadLetters:
    rows = failed_rows(deployment, target)
    causes: dict[str, list[str]] = {}
    for row in rows:
        causes.setdefault(_cause(row), []).append(row.task.document_id)
    return TargetDeadLetters(
        target=target,
        dead_letters=deployment.count_dead_letters(target),
        failed_documents=len(rows),
        causes=tuple(
            Cause(cause=cause, documents=tuple(names))
            for cause, names in sorted(causes.items(), key=lambda item: -len(item[1]))
        ),
    )


def _cause(row: LedgerRow) -> str:
    """Name what failed last: the reason counts attempts, and would split one cause into many."""
    if row.status is Status.FAILED_MAX_RETRIES and row.errors:
        return f"{row.errors[-1].kind}: {row.errors[-1].message}, no attempt is left"
    return row.outcome.reason or "no reason recorded"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def failed_rows(deployment: "Deployment", target: str) -> list[LedgerRow]:
    """Return the rows of a target that have failed, newest first."""
    keys = [
        row.row_key
        for row in deployment.listed([Group.FAILED])
        if row.status.is_failed and row.row_key.startswith(f"{target}/")
    ]
    rows = [row for row in deployment.ledger.read(keys).values() if row.status.is_failed]
    return sorted(rows, key=lambda row: -(row.outcome.failed_ms or 0))


def redrive(deployment: "Deployment") -> int:
    """Let SQS move every dead letter back to its lane; return how many there were."""
    sqs = deployment.sqs
    moved = 0
    for target in deployment.targets:
        for url in deployment.dead_letter_urls(target):
            waiting, _ = deployment.depth(url)
            if waiting:
                attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
                sqs.start_message_move_task(SourceArn=attributes["Attributes"]["QueueArn"])
                moved += waiting
    return moved
