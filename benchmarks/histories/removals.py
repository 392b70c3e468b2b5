"""How the code would look without a rule: what removed_rules.py puts in its place."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from functions.adapters.dynamodb_values import from_dynamodb
from functions.core import transitions
from functions.core.entry import Entry, Tombstone, WriteResult, Written
from functions.core.ledger_row import LedgerRow, Outcome, Status
from functions.core.owing import Owed, OwePlan, OweResult, plan_owed
from functions.core.ports import NO_KEY, Message, VectorIndex
from functions.embed import admit
from functions.embed.admit import Verdict
from functions.embed.ending import Indexed, Removed
from functions.embed.entry_writes import Writes, write_entries
from functions.embed.finish import Ended, Finish
from functions.enqueue import plan
from functions.enqueue.plan import ChangeResult, Plan
from local.memory.control import MemoryControl
from local.memory.index import MemoryIndex
from local.memory.table import MemorySource

if TYPE_CHECKING:
    from functions.core.identity import ItemKey


def write_any_version(index: MemoryIndex, entry: Entry | Tombstone) -> WriteResult:
    index.entries[entry.entry_id] = entry
    return Written.WRITTEN


_write_under_version = MemoryIndex._write


def delete_for_real(index: MemoryIndex, entry: Entry | Tombstone) -> WriteResult:
    result = _write_under_version(index, entry)
    if isinstance(entry, Tombstone) and result is Written.WRITTEN:
        index.delete(entry.entry_id, entry.version)
    return result


_accept = transitions.accept
_requeue = transitions.requeue


def accept_with_hash(change: Any, row: LedgerRow | None, **options: Any) -> LedgerRow:
    accepted = _accept(change, row, **options)
    if row is None:
        return accepted
    return replace(accepted, outcome=Outcome(content_hash=row.outcome.content_hash))


def keep_expiry(make: Callable[..., LedgerRow], *args: Any, **options: Any) -> LedgerRow:
    made = make(*args, **options)
    rows = [row for row in args if isinstance(row, LedgerRow)]
    expires_at = rows[0].outcome.expires_at if rows else None
    return replace(made, outcome=replace(made.outcome, expires_at=expires_at))


def complete_from_this_run(index: VectorIndex, entries: Writes, **options: Any) -> Any:
    own = {job.key: entry.content_hash for job, entry in entries}
    return {
        key: replace(ending, content_hash=own[key])
        if isinstance(ending, Indexed | Removed)
        else ending
        for key, ending in write_entries(index, entries, **options).items()
    }


def close_any_version(finish: Finish, one: Ended, row: LedgerRow | None) -> Ended:
    if row is None or row is one.job.row:
        return one
    return finish.end(replace(one.job, row=row), one.ending)


def claim_always(control: MemoryControl, target: str, *, now_ms: int, until_ms: int) -> bool:
    del now_ms
    control_item = control.standing(target)
    cooldown = replace(control_item.cooldown, claimed_until_ms=until_ms)
    control.items[target] = replace(control_item, cooldown=cooldown)
    return True


def restart_always(message: Message, row: LedgerRow) -> Verdict | None:
    """Let every message restart a failed row."""
    return None if row.is_given_up else _without_work(message, row)


_without_work = admit._without_work


_is_unchanged = plan._is_unchanged


def unchanged_in_any_index(change: Any, row: LedgerRow, target: Any, _: str | None) -> bool:
    return _is_unchanged(change, row, target, row.indexed.index_uuid)


def write_over_an_equal_version(index: MemoryIndex, entry: Entry | Tombstone) -> WriteResult:
    """Write as `external_gte` would."""
    held = index.entries.get(entry.entry_id)
    if held is not None and held.version == entry.version:
        del index.entries[entry.entry_id]
    return _write_under_version(index, entry)


def write_only_what_differs(index: VectorIndex, entries: Writes, **options: Any) -> Any:
    """Leave an entry as it is where its content is the same."""
    stored = index.read([job.entry_id for job, _ in entries])
    same = {
        job.key: Indexed(entry.content_hash, len(entry.chunks))
        for job, entry in entries
        if isinstance(entry, Entry)
        and (held := stored.get(job.entry_id)) is not None
        and held.content_hash == entry.content_hash
    }
    others = [(job, entry) for job, entry in entries if job.key not in same]
    return same | write_entries(index, others, **options)


def remove_whatever_it_is(index: MemoryIndex, name: Any, _: int) -> bool:
    index.entries.pop(name, None)
    return True


def requeue_same_version(row: LedgerRow, *, now_ms: int) -> LedgerRow:
    return replace(_requeue(row, now_ms=now_ms), task=row.task)


_without_new_version = plan._without_new_version


def take_older_changes(change: Any, row: LedgerRow, *args: Any) -> Plan | None:
    settled = _without_new_version(change, row, *args)
    is_stale = settled is not None and settled.result is ChangeResult.STALE
    return None if is_stale else settled


def send_once(change: Any, row: LedgerRow, *args: Any) -> Plan | None:
    settled = _without_new_version(change, row, *args)
    return settled and replace(settled, sends=False)


_admit = admit.admit


def admit_older_versions(task: Any, message: Message, row: LedgerRow | None, terms: Any) -> Any:
    if row is not None and task.version < row.task.version:
        task = row.task
    return _admit(task, message, row, terms)


def work_again(message: Message, row: LedgerRow) -> Verdict | None:
    """Work a version once more that has come to its end."""
    verdict = _without_work(message, row)
    return None if verdict is Verdict.DONE else verdict


def work_twice(message: Message, row: LedgerRow) -> Verdict | None:
    """Work a message that another run has."""
    verdict = _without_work(message, row)
    return None if verdict is Verdict.IN_WORK else verdict


def work_each_copy(task: Any, message: Message, row: LedgerRow | None, terms: Any) -> Any:
    """Work a copy of a task that another run has."""
    if row is not None and row.status is Status.PROCESSING:
        progress = replace(row.progress, message_id=message.message_id, receive_count=0)
        row = replace(row, progress=progress)
    return _admit(task, message, row, terms)


def read_a_write_late(source: MemorySource, settings: Any, keys: "Sequence[ItemKey]") -> Any:
    """Read items as they were before the last write of the table."""
    table = source._tables[settings.name]
    images: dict[str, Any] = {}
    for record in table.stream[:-1]:
        images[str(record["dynamodb"]["Keys"])] = record["dynamodb"].get("NewImage")
    return [
        NO_KEY
        if table.refuses(key)
        else (image := images.get(str(dict(key)))) and from_dynamodb(image)
        for key in keys
    ]


def owe_once(one: Owed, row: LedgerRow | None, **options: Any) -> OwePlan:
    """Send nothing of a page again whose run may have ended before it was sent."""
    owed = plan_owed(one, row, **options)
    return replace(owed, sends=False) if owed.result is OweResult.AGAIN else owed
