"""The rules of the protocol, each taken out of the code in turn: a history must find that."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from statistics import median_high
from typing import Any
from unittest.mock import patch

from benchmarks.histories.run import play_seeds
from functions.core import closing, transitions
from functions.core import task as tasks
from functions.core.entry import Entry, Tombstone, WriteResult, Written
from functions.core.identity import digest
from functions.core.ledger_row import LedgerRow, Outcome, Quarantine, Status
from functions.core.ports import Message, VectorIndex
from functions.embed import admit, receive
from functions.embed import process as embed
from functions.embed.admit import Verdict
from functions.embed.ending import Indexed, Removed
from functions.embed.entry_writes import Writes, write_entries
from functions.embed.finish import Ended, Finish
from functions.embed.receive import Receive
from functions.enqueue import plan
from functions.sweep import purge, requeue
from local.memory import ledger
from local.memory.control import MemoryControl
from local.memory.index import MemoryIndex

SEEDS_APART = 1_000_000  # between the first seeds of two tries


@dataclass(frozen=True)
class RemovedRule:
    """A rule, and how the code looks without it."""

    name: str
    remove: Callable[[], AbstractContextManager[Any]]


def seeds_to_find(number: int, *, times: int, limit: int) -> int | None:
    """Remove a rule; return the median number of seeds until a history fails.

    None: one try found nothing.
    """
    counts = []
    with REMOVED_RULES[number].remove():
        for first in range(0, times * SEEDS_APART, SEEDS_APART):
            result = play_seeds(range(first, first + limit), first_failure_ends=True)
            if not result.failed:
                return None
            counts.append(result.histories)
    return median_high(counts)


def _write_any_version(index: MemoryIndex, entry: Entry | Tombstone) -> WriteResult:
    index.entries[entry.entry_id] = entry
    return Written.WRITTEN


_write_under_version = MemoryIndex._write


def _delete_for_real(index: MemoryIndex, entry: Entry | Tombstone) -> WriteResult:
    result = _write_under_version(index, entry)
    if isinstance(entry, Tombstone) and result is Written.WRITTEN:
        del index.entries[entry.entry_id]
    return result


_accept = transitions.accept
_requeue = transitions.requeue


def _accept_with_hash(change: Any, row: LedgerRow | None, **options: Any) -> LedgerRow:
    accepted = _accept(change, row, **options)
    if row is None:
        return accepted
    return replace(accepted, outcome=Outcome(content_hash=row.outcome.content_hash))


def _keep_expiry(make: Callable[..., LedgerRow], *args: Any, **options: Any) -> LedgerRow:
    made = make(*args, **options)
    rows = [row for row in args if isinstance(row, LedgerRow)]
    expires_at = rows[0].outcome.expires_at if rows else None
    return replace(made, outcome=replace(made.outcome, expires_at=expires_at))


def _complete_from_this_run(index: VectorIndex, entries: Writes, **options: Any) -> Any:
    own = {job.key: entry.content_hash for job, entry in entries}
    return {
        key: replace(ending, content_hash=own[key])
        if isinstance(ending, Indexed | Removed)
        else ending
        for key, ending in write_entries(index, entries, **options).items()
    }


def _close_any_version(finish: Finish, one: Ended, row: LedgerRow | None) -> Ended:
    if row is None or row is one.job.row:
        return one
    return finish.end(replace(one.job, row=row), one.ending)


def _claim_always(control: MemoryControl, target: str, *, now_ms: int, until_ms: int) -> bool:
    del now_ms
    control_item = control.read(target)
    cooldown = replace(control_item.cooldown, claimed_until_ms=until_ms)
    control.items[target] = replace(control_item, cooldown=cooldown)
    return True


def _restart_always(message: Message, row: LedgerRow) -> Verdict | None:
    """Let every message restart a failed row."""
    return None if row.is_given_up else _without_work(message, row)


_without_work = admit._without_work


def _announce_no_more(_: Any, __: Any, row: LedgerRow) -> bool:
    del row
    return True


_is_unchanged = plan._is_unchanged


def _unchanged_in_any_index(change: Any, row: LedgerRow, target: Any, _: str | None) -> bool:
    return _is_unchanged(change, row, target, row.indexed.index_uuid)


def _without(target: Any, name: str, value: Any) -> Callable[[], AbstractContextManager[Any]]:
    return partial(patch.object, target, name, value)


def _both(*removals: Callable[[], AbstractContextManager[Any]]) -> AbstractContextManager[Any]:
    stack = ExitStack()
    for remove in removals:
        stack.enter_context(remove())
    return stack


REMOVED_RULES = (
    RemovedRule(
        "the index refuses older versions", _without(MemoryIndex, "_write", _write_any_version)
    ),
    RemovedRule("a delete leaves a tombstone", _without(MemoryIndex, "_write", _delete_for_real)),
    RemovedRule("a tombstone is kept for a day", _without(purge, "KEPT_MS", 0)),
    RemovedRule(
        "a task's deduplication id has the version",
        _without(tasks, "deduplication_id", lambda row, *_: digest(row)),
    ),
    RemovedRule(
        "a version follows the clock too",
        _without(transitions, "next_version", lambda previous, _: previous + 1),
    ),
    RemovedRule(
        "rows are written under their revision", _without(ledger, "_fits", lambda *_: True)
    ),
    RemovedRule(
        "unchanged is asked of closed rows only",
        lambda: _both(
            _without(plan, "accept", _accept_with_hash), _without(plan, "HASHED", tuple(Status))
        ),
    ),
    RemovedRule(
        "an open row does not expire",
        lambda: _both(
            _without(plan, "accept", partial(_keep_expiry, _accept)),
            _without(requeue, "requeue", partial(_keep_expiry, _requeue)),
        ),
    ),
    RemovedRule(
        "a run closes rows of its own version only",
        _without(Finish, "_decide", _close_any_version),
    ),
    RemovedRule(
        "an entry of the same version closes the row as it is",
        _without(embed, "write_entries", _complete_from_this_run),
    ),
    RemovedRule(
        "after a lost write the row that stands is announced",
        lambda: _both(
            _without(closing, "announce_standing", _announce_no_more),
            _without(Receive, "_announced_again", lambda _, verdict, *__: verdict),
        ),
    ),
    RemovedRule(
        "a task that ended a run is worked apart",
        lambda: _both(
            _without(admit, "quarantine_of", lambda *_: Quarantine.NONE),
            _without(receive, "quarantine_of", lambda *_: Quarantine.NONE),
        ),
    ),
    RemovedRule(
        "a proven crash spends an attempt", _without(admit, "_has_crashed", lambda _: False)
    ),
    RemovedRule(
        "only a message that was sent later restarts a failed row",
        _without(admit, "_without_work", _restart_always),
    ),
    RemovedRule(
        "one worker asks after a cooldown", _without(MemoryControl, "claim", _claim_always)
    ),
    RemovedRule(
        "unchanged holds for one index only",
        _without(plan, "_is_unchanged", _unchanged_in_any_index),
    ),
)
