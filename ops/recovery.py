"""Documents sent again: all that are open, or one at a person's wish."""

from functions.core.identity import DocumentId, row_key
from functions.core.lane import Lane
from local.recovery import requeue_step, send_open_again
from ops.deployment import Deployment, UsageError


def recover(deployment: Deployment) -> list[str]:
    """Send every open document again, now."""
    sent, found = send_open_again(deployment.ledger, deployment.tasks)
    return [f"{sent} of {found} open documents sent again"]


def requeue(
    deployment: Deployment, document: str, *, lane: str, source: str | None, target: str | None
) -> list[str]:
    """Send one document again, at the priority of a lane."""
    key = row_key(
        deployment.target(target).name, deployment.source(source).name, DocumentId(document)
    )
    if not requeue_step(deployment.ledger, deployment.tasks).push(key, Lane(lane)):
        raise UsageError(f"{key} was not sent: the ledger has no such row, or SQS refused it")
    return [f"{key} sent to lane {lane}: see `embedq status {document}`"]
