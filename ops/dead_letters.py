"""Dead letters, as the ledger explains them. Nothing is received: looking hides messages."""

from functions.core.ledger_row import Group, LedgerRow, Status
from ops.deployment import Deployment
from ops.statistics import queue_depth

SHOWN = 20


def dead_list(deployment: Deployment) -> list[str]:
    """List failed documents, grouped by cause."""
    sqs = deployment.client("sqs")
    lines = []
    for target in deployment.targets:
        rows = failed_rows(deployment, target)
        messages = sum(sum(queue_depth(sqs, url)) for url in deployment.dead_letter_urls(target))
        lines.append(f"target {target}: {messages} dead letters, {len(rows)} failed documents")
        causes: dict[str, list[str]] = {}
        for row in rows:
            causes.setdefault(_cause(row), []).append(row.task.document_id)
        for cause, names in sorted(causes.items(), key=lambda item: -len(item[1])):
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            lines += [f"  {len(names)} x {cause}", f"      {', '.join(names[:SHOWN])}{more}"]
    return lines


def _cause(row: LedgerRow) -> str:
    """Name what failed last: the reason counts attempts, and would split one cause into many."""
    if row.status is Status.FAILED_MAX_RETRIES and row.errors:
        return f"{row.errors[-1].kind}: {row.errors[-1].message}, no attempt is left"
    return row.outcome.reason or "no reason recorded"


def failed_rows(deployment: Deployment, target: str) -> list[LedgerRow]:
    """Return the rows of a target that have failed, newest first."""
    keys = [
        row.row_key
        for row in deployment.ledger.listed([Group.FAILED])
        if row.status.is_failed and row.row_key.startswith(f"{target}/")
    ]
    rows = [row for row in deployment.ledger.read(keys).values() if row.status.is_failed]
    return sorted(rows, key=lambda row: -(row.outcome.failed_ms or 0))


def redrive(deployment: Deployment) -> int:
    """Let SQS move every dead letter back to its lane; return how many there were."""
    sqs = deployment.client("sqs")
    moved = 0
    for target in deployment.targets:
        for url in deployment.dead_letter_urls(target):
            waiting, _ = queue_depth(sqs, url)
            if waiting:
                attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
                sqs.start_message_move_task(SourceArn=attributes["Attributes"]["QueueArn"])
                moved += waiting
    return moved
