"""Why documents failed: rows with the same kind and the same message have one cause. Pure."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from functions.core.failure import FailureKind
from functions.core.ledger_row import LedgerRow, Status

WRITE_AGAIN = "its next write starts new attempts"
# What a person does about each kind; `embedq dead requeue` sends the documents again afterwards.
REMEDIES = {
    FailureKind.THROTTLED: "raise the account's limit at the provider, then requeue",
    FailureKind.TIMEOUT: "requeue when the provider answers faster; make chunk_tokens smaller",
    FailureKind.PROVIDER_ERROR: "look at the provider's status page, and requeue when it is well",
    FailureKind.CONFIGURATION: "correct the key, the quota or the model, then requeue",
    FailureKind.INVALID_INPUT: f"correct the document: {WRITE_AGAIN}",
    FailureKind.INDEX_UNAVAILABLE: "look at the domain's health, and requeue when it answers",
    FailureKind.INDEX_BUSY: "give the domain more or larger instances, then requeue",
    FailureKind.INDEX_REJECTED: "correct the document or the metadata in cdk.json, then requeue",
    FailureKind.STORE_UNAVAILABLE: "look for throttled tables and buckets, then requeue",
    FailureKind.STORE_DENIED: "give the function's role its rights back (deploy), then requeue",
    FailureKind.EVENT_REFUSED: "look at the event bus and its policy, then requeue",
    FailureKind.NO_TIME: "make the document smaller, or raise the timeout of embed, then requeue",
    FailureKind.RESOURCE: "make the document smaller, or give embed more memory, then requeue",
    FailureKind.BUDGET: "see `embedq budget`, and raise it or wait: they are sent again then",
    FailureKind.TENANT_BUDGET: "raise tenant_tokens_per_day, or wait: they are sent again then",
    FailureKind.PAUSED: "see `embedq breakers`, and requeue when the target works again",
    FailureKind.UNKNOWN: "look at `embedq timeline` and the logs, report the defect, then requeue",
}
ID_CHARACTERS = 6

# What differs from document to document, and not from cause to cause. A status code stays.
_VARIABLE = re.compile(
    r"""(?P<quoted>"[^"]*"|`[^`]*`|(?<!\w)'[^']*'(?!\w))"""
    r"|(?P<id>\barn:\S+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b)"
    r"|(?<!answered )(?P<number>(?<![\w.-])\d+(?:[.,:]\d+)*)"
)


@dataclass(frozen=True)
class Cause:
    """What some documents have in common."""

    kind: FailureKind
    message: str  # without what is different in each document

    @property
    def id(self) -> str:
        """Return a short name that stays the same, for `--cause`."""
        return hashlib.sha256(f"{self.kind}\n{self.message}".encode()).hexdigest()[:ID_CHARACTERS]

    @property
    def remedy(self) -> str:
        return REMEDIES[self.kind]

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    def is_meant_by(self, words: str) -> bool:
        """Tell whether a person means it: by its id, or by a part of its kind and message."""
        return words == self.id or words.lower() in str(self).lower()


@dataclass(frozen=True)
class Documents:
    """The documents of one cause."""

    cause: Cause
    rows: tuple[LedgerRow, ...]  # the newest first

    @property
    def first_ms(self) -> int:
        return min(map(failed_at, self.rows))

    @property
    def last_ms(self) -> int:
        return max(map(failed_at, self.rows))


def cause_of(row: LedgerRow) -> Cause:
    """Name what failed last: the reason counts attempts, and would split one cause into many."""
    if row.errors:
        return Cause(row.errors[-1].kind, normalised(row.errors[-1].message))
    if row.status is Status.PARTIALLY_COMPLETED:
        return Cause(FailureKind.INVALID_INPUT, "some chunks were rejected")
    # A stream record without a valid key: no attempt was ever made.
    return Cause(FailureKind.INVALID_INPUT, normalised(row.outcome.reason or "no reason recorded"))


def failed_at(row: LedgerRow) -> int:
    """Return when it failed, or was indexed without some chunks."""
    return row.outcome.failed_ms or row.outcome.completed_ms or row.queued_ms


def by_cause(rows: Iterable[LedgerRow]) -> list[Documents]:
    """Group rows, the most frequent cause first."""
    found: dict[Cause, list[LedgerRow]] = {}
    for row in sorted(rows, key=failed_at, reverse=True):
        found.setdefault(cause_of(row), []).append(row)
    groups = [Documents(cause, tuple(mine)) for cause, mine in found.items()]
    return sorted(groups, key=lambda one: (-len(one.rows), str(one.cause)))


def normalised(message: str) -> str:
    """Replace numbers, ids and quoted parts of a message."""
    names = {"quoted": "'...'", "id": "ID", "number": "N"}
    return _VARIABLE.sub(lambda found: names[found.lastgroup or ""], " ".join(message.split()))
