"""Change + ledger row -> what to do: the decision table of versions. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from functions.core.change import Change
from functions.core.document import Unusable, content_hash
from functions.core.lane import Lane, faster, lane_for
from functions.core.ledger_row import LedgerRow, Status
from functions.core.settings import Ordering, SourceSettings, TargetSettings
from functions.core.transitions import accept


class ChangeResult(StrEnum):
    """What became of a change in one target; also the name of its log event and metric."""

    ACCEPTED = "change_accepted"  # a new version: written to the ledger, then sent
    REPEATED = "change_repeated"  # seen before; its task is sent again if it is not worked yet
    STALE = "change_stale"  # older than what the ledger has seen
    UNCHANGED = "change_unchanged"  # nothing that the index shows is different


# A closed row whose hash says what the index holds, or what failed for good.
HASHED = (Status.COMPLETED, Status.PARTIALLY_COMPLETED, Status.SKIPPED, Status.FAILED)


@dataclass(frozen=True)
class Plan:
    """The decision: a row is to be written where there is one, then its task sent if `sends`."""

    result: ChangeResult
    row: LedgerRow | None = None
    sends: bool = False


def plan_change(
    change: Change,
    row: LedgerRow | None,
    *,
    source: SourceSettings,
    target: TargetSettings,
    index_uuid: str | None,
    now_ms: int,
    trace_id: str,
) -> Plan:
    """Give the change a version, or find that it needs none.

    `index_uuid` is of the target's index; None: unknown.
    """
    if row is not None and (settled := _without_new_version(change, row, target, index_uuid)):
        return settled
    open_lane = row.task.lane if row is not None and row.status.is_open else None
    accepted = accept(
        change,
        row,
        target=target.name,
        lane=choose_lane(change, source, open_lane),
        trace_id=trace_id,
        now_ms=now_ms,
    )
    return Plan(ChangeResult.ACCEPTED, accepted, sends=True)


def choose_lane(change: Change, source: SourceSettings, open_lane: Lane | None) -> Lane:
    """Pick the lane: sequential sources have one, deletes have their own, then the priority."""
    if source.ordering is Ordering.SEQUENTIAL:
        return Lane.SEQUENTIAL
    if change.removed or isinstance(change.content, Unusable):
        return Lane.DELETE
    wanted = lane_for(change.priority or "") or Lane.NORMAL
    # A version that replaces one on its way must not fall behind it.
    return wanted if open_lane is None else faster(wanted, open_lane)


def _without_new_version(
    change: Change, row: LedgerRow, target: TargetSettings, index_uuid: str | None
) -> Plan | None:
    if change.position.stream == row.position.stream:
        if change.position < row.position:
            return Plan(ChangeResult.STALE)
        if change.position == row.position:
            # What is parked has been delivered and worked: the sweep sends it again.
            is_owed = row.status is Status.PENDING and not row.progress.parked
            return Plan(ChangeResult.REPEATED, sends=is_owed)
    if _is_unchanged(change, row, target, index_uuid):
        return Plan(ChangeResult.UNCHANGED)
    return None


def _is_unchanged(
    change: Change, row: LedgerRow, target: TargetSettings, index_uuid: str | None
) -> bool:
    # Asked of closed rows only: an open one may still be about to write something else.
    if change.removed:
        return row.status is Status.DELETED
    if row.status.is_searchable and row.indexed.index_uuid != index_uuid:
        # It was written to an index that is gone.
        return False
    return (
        change.content is not None
        # A row with the key of a table that was replaced could not be sent again.
        and row.task.key == change.key
        and row.status in HASHED
        and row.outcome.content_hash == content_hash(change.content, target)
    )
