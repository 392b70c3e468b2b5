"""All documents: how many are where."""

from collections import Counter
from typing import Any

from functions.adapters.opensearch_http import segment
from functions.core.ledger_row import Group, Status
from ops.deployment import Deployment

OPEN_OR_FAILED = (Group.OPEN, Group.PARKED, Group.HEALING, Group.FAILED)
SHOWN = (
    Status.PENDING,
    Status.PROCESSING,
    Status.FAILED,
    Status.FAILED_MAX_RETRIES,
    Status.PARTIALLY_COMPLETED,
)
DEPTHS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")


def stats(deployment: Deployment) -> list[str]:
    """Count documents by status, and messages by lane."""
    by_target: dict[str, Counter[Status]] = {name: Counter() for name in deployment.targets}
    for row in deployment.ledger.listed(OPEN_OR_FAILED):
        # Rows of a target that is no longer deployed have no lanes and no index.
        if (name := row.row_key.split("/")[0]) in by_target:
            by_target[name][row.status] += 1
    lines = []
    for name, counts in by_target.items():
        searchable = _searchable(deployment, deployment.targets[name].index)
        lines.append(f"target {name}")
        lines.append(f"  searchable {searchable}")
        lines += [f"  {status:<10} {counts[status]}" for status in SHOWN]
        lines += [f"  {line}" for line in _depths(deployment, name)]
    return lines


def _searchable(deployment: Deployment, index: str) -> int:
    query = {"query": {"term": {"deleted": False}}}
    return int(deployment.index.call("POST", f"{segment(index)}/_count", query)["count"])


def _depths(deployment: Deployment, target: str) -> list[str]:
    sqs = deployment.client("sqs")
    lines = []
    for lane, url in deployment.queues[target].items():
        waiting, in_flight = queue_depth(sqs, url)
        lines.append(f"lane {lane}: {waiting} waiting, {in_flight} in flight")
    dead = sum(sum(queue_depth(sqs, url)) for url in deployment.dead_letter_urls(target))
    return [*lines, f"dead letters: {dead}"]


def queue_depth(sqs: Any, url: str) -> tuple[int, int]:
    """Return how many messages wait, and how many are hidden."""
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(DEPTHS))["Attributes"]
    return int(found[DEPTHS[0]]), int(found[DEPTHS[1]])
