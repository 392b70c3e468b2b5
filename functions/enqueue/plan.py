"""Change + ledger row -> what to do: the decision table of versions. Pure."""

from dataclasses import dataclass, replace
from enum import StrEnum

from functions.core.change import Change
from functions.core.document import Unusable, content_hash
from functions.core.lane import PRIORITIES, Lane, faster
from functions.core.ledger_row import LedgerRow, Status, next_version
from functions.core.settings import Ordering, SourceSettings, TargetSettings
from functions.core.transitions import new_life


class Outcome(StrEnum):
    """What became of a change in one target; also the name of its log event and metric."""

    ACCEPTED = "change_accepted"  # a new version: written to the ledger, then sent
    REPEATED = "change_repeated"  # seen before; the same task is sent again if it is still owed
    STALE = "change_stale"  # older than what the ledger has seen
    UNCHANGED = "change_unchanged"  # nothing that the index shows is different


# A closed row whose hash says what the index holds, or what failed for good.
HASHED = (Status.COMPLETED, Status.PARTIALLY_COMPLETED, Status.SKIPPED, Status.FAILED)


@dataclass(frozen=True)
class Plan:
    """The decision: an accepted row is to be written, then its task sent if `sends`."""

    outcome: Outcome
    row: LedgerRow
    sends: bool = False


def plan_change(
    change: Change,
    row: LedgerRow | None,
    *,
    source: SourceSettings,
    target: TargetSettings,
    now_ms: int,
    trace_id: str = "",
) -> Plan:
    """Give the change a version, or find that it needs none."""
    if row is None:
        first = _first_row(change, source, target, now_ms, trace_id)
        return Plan(Outcome.ACCEPTED, first, sends=True)
    if change.position.stream == row.position.stream:
        if change.position < row.position:
            return Plan(Outcome.STALE, row)
        if change.position == row.position:
            # What is parked has been delivered and worked: the sweep sends it again.
            is_owed = row.status is Status.PENDING and not row.parked
            return Plan(Outcome.REPEATED, row, sends=is_owed)
    if _is_unchanged(change, row, target):
        return Plan(Outcome.UNCHANGED, row)
    following = _next_row(change, row, source, now_ms, trace_id)
    return Plan(Outcome.ACCEPTED, following, sends=True)


def choose_lane(change: Change, source: SourceSettings, open_lane: Lane | None) -> Lane:
    """Pick the lane: sequential sources have one, deletes have their own, then the priority."""
    if source.ordering is Ordering.SEQUENTIAL:
        return Lane.SEQUENTIAL
    if change.removed or isinstance(change.content, Unusable):
        return Lane.DELETE
    wanted = next((lane for lane in PRIORITIES if lane == change.priority), Lane.NORMAL)
    # A version that replaces one on its way must not fall behind it.
    return wanted if open_lane is None else faster(wanted, open_lane)


def _is_unchanged(change: Change, row: LedgerRow, target: TargetSettings) -> bool:
    # Asked of closed rows only: an open one may still be about to write something else.
    if change.removed:
        return row.status is Status.DELETED
    return (
        change.content is not None
        and row.status in HASHED
        and row.content_hash == content_hash(change.content, target)
    )


def _first_row(
    change: Change, source: SourceSettings, target: TargetSettings, now_ms: int, trace_id: str
) -> LedgerRow:
    return LedgerRow(
        target=target.name,
        source=source.name,
        document_id=change.document_id,
        key={name: dict(value) for name, value in change.key.items()},
        version=next_version(0, now_ms),
        position=change.position,
        lane=choose_lane(change, source, None),
        created_ms=now_ms,
        queued_ms=now_ms,
        written_ms=change.written_ms,
        type=_type(change),
        operation=_operation(change),
        trace_id=trace_id,
    )


def _next_row(
    change: Change, row: LedgerRow, source: SourceSettings, now_ms: int, trace_id: str
) -> LedgerRow:
    return replace(
        new_life(row),
        version=next_version(row.version, now_ms),
        position=change.position,
        lane=choose_lane(change, source, row.lane if row.status.is_open else None),
        queued_ms=now_ms,
        written_ms=change.written_ms,
        type=_type(change) or row.type,
        operation=_operation(change),
        trace_id=trace_id,
        status=Status.PENDING,
        next_attempt_ms=None,
        parked=False,
        sent=True,
        completed_ms=None,
        content_hash=None,
        expires_at=None,
    )


def _type(change: Change) -> str:
    return change.content.type if change.content is not None else ""


def _operation(change: Change) -> str:
    return "delete" if change.removed else "upsert"
