"""A queue that was lost or purged."""

from local.recovery import send_open_again
from ops.deployment import Deployment


def recover(deployment: Deployment) -> list[str]:
    """Send every open document again, now."""
    sent, found = send_open_again(deployment.ledger, deployment.tasks)
    return [f"{sent} of {found} open documents sent again"]
