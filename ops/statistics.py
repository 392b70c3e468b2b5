"""All documents: how many are where."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from functions.adapters.opensearch_http import segment
from functions.core.ledger_row import Group, Status
from functions.core.ports import Listed
from ops.deployment import Deployment

LISTED = (Group.OPEN, Group.PARKED, Group.HEALING, Group.FAILED)
DEPTHS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
# What each line of the summary counts, in the order of a document's life.
LABELS = {
    "pending": "in a lane",
    "processing": "being worked",
    "parked": "waiting for the next attempt",
    "healing": "failed for now, tried again when all is quiet",
    "failed": "a person is needed: embedq dead list",
    "partial": "searchable without some chunks",
}


def stats(deployment: Deployment) -> list[str]:
    """Count documents by state, and messages by lane."""
    by_target: dict[str, Counter[str]] = {name: Counter() for name in deployment.targets}
    for row in deployment.ledger.listed(LISTED):
        # Rows of a target that is no longer deployed have no lanes and no index.
        if (name := row.row_key.split("/")[0]) in by_target:
            by_target[name][label(row)] += 1
    lines = []
    for name, counts in by_target.items():
        searchable = _searchable(deployment, deployment.targets[name].index)
        lines.append(f"target {name}")
        lines += [f"  {line}" for line in summary(counts, searchable)]
        lines += [f"  {line}" for line in _depths(deployment, name)]
    return lines


def label(row: Listed) -> str:
    """Name the line of the summary that a row belongs to."""
    match row.group:
        case Group.OPEN:
            return str(row.status)
        case Group.FAILED:
            return "partial" if row.status is Status.PARTIALLY_COMPLETED else "failed"
        case _:
            return str(row.group)


def summary(counts: Mapping[str, int], searchable: int) -> list[str]:
    """Tell how far all documents have come; what failed for good has come to its end, too."""
    open_ = sum(counts[name] for name in ("pending", "processing", "parked", "healing"))
    ended = searchable + counts["failed"]
    progress = 100 * ended // (ended + open_) if ended + open_ else 100
    return [
        f"progress   {progress} %, {open_} open",
        f"searchable {searchable}",
        *(f"{name:<10} {counts[name]:<6} {told}" for name, told in LABELS.items()),
    ]


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
