"""A document that is owed to the index, and what its ledger row says about that. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from functions.core.identity import DocumentId, ItemKey
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status
from functions.core.settings import Ordering, SourceSettings
from functions.core.transitions import owe


class OweResult(StrEnum):
    """What became of a document that was found to be owed; also the name of its log event."""

    OWED = "document_owed"  # a new version: written to the ledger, then sent
    AGAIN = "document_sent_again"  # its version may have no message: a run crashed before
    ON_ITS_WAY = "document_on_its_way"  # the ledger has it open


@dataclass(frozen=True)
class Owed:
    """A document to be worked again, by the item that the table holds when it is worked."""

    document_id: DocumentId
    key: ItemKey
    lane: Lane
    above_version: int = 0  # what the index holds


@dataclass(frozen=True)
class OwePlan:
    """The decision: a row is to be written where there is one, then its task sent if `sends`."""

    result: OweResult
    row: LedgerRow | None = None
    sends: bool = False


def plan_owed(
    document: Owed,
    row: LedgerRow | None,
    *,
    target: str,
    source: str,
    since_ms: int,
    now_ms: int,
) -> OwePlan:
    """Give a document a new version, unless one is on its way already.

    `since_ms`: a crashed run may have written rows since then, and sent no messages.
    """
    if row is None or not row.status.is_open:
        owed = owe(document, row, target=target, source=source, now_ms=now_ms)
        return OwePlan(OweResult.OWED, owed, sends=True)
    has_waited = row.status is Status.PENDING and row.progress.last_attempt_ms is None
    is_mine = row.task.lane is document.lane and row.queued_ms >= since_ms
    if has_waited and is_mine and row.progress.sent and not row.progress.parked:
        return OwePlan(OweResult.AGAIN, sends=True)
    return OwePlan(OweResult.ON_ITS_WAY)


def owing_lane(source: SourceSettings, *, is_gone: bool = False) -> Lane:
    """Return the lane of documents that no write waits for."""
    if source.ordering is Ordering.SEQUENTIAL:
        return Lane.SEQUENTIAL
    return Lane.DELETE if is_gone else Lane.BULK
