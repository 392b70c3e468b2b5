"""The rules of the protocol, each taken out of the code in turn: a history must find that."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from statistics import median_high
from typing import Any
from unittest.mock import patch

from benchmarks.histories import removals
from benchmarks.histories.run import play_seeds
from functions.backfill import owe
from functions.core import closing, transitions
from functions.core import task as tasks
from functions.core.identity import digest
from functions.core.ledger_row import Quarantine, Status
from functions.embed import admit, receive
from functions.embed import process as embed
from functions.embed.finish import Finish
from functions.embed.guard.spending import Spending
from functions.embed.receive import Receive
from functions.enqueue import plan
from functions.sweep import purge, requeue
from local.memory import ledger
from local.memory.control import MemoryControl
from local.memory.index import MemoryIndex
from local.memory.table import MemorySource

SEEDS_APART = 1_000_000  # between the first seeds of two tries


@dataclass(frozen=True)
class RemovedRule:
    """A rule, and how the code looks without it."""

    name: str
    remove: Callable[[], AbstractContextManager[Any]]


def seeds_to_find(name: str, *, times: int, limit: int) -> int | None:
    """Remove a rule; return the median number of seeds until a history fails.

    None: one try found nothing.
    """
    [rule] = [rule for rule in REMOVED_RULES if rule.name == name]
    counts = []
    with rule.remove():
        for first in range(0, times * SEEDS_APART, SEEDS_APART):
            result = play_seeds(range(first, first + limit), first_failure_ends=True)
            if not result.failed:
                return None
            counts.append(result.histories)
    return median_high(counts)


def _without(name: str, *places: tuple[Any, str, Any]) -> RemovedRule:
    return RemovedRule(name, partial(_patched, places))


def _patched(places: tuple[tuple[Any, str, Any], ...]) -> AbstractContextManager[Any]:
    stack = ExitStack()
    for target, name, value in places:
        stack.enter_context(patch.object(target, name, value))
    return stack


REMOVED_RULES = (
    # Versions.
    _without(
        "a version is above the one before",
        (transitions, "next_version", lambda _, now_ms: now_ms),
    ),
    _without(
        "a version follows the clock too",
        (transitions, "next_version", lambda previous, _: previous + 1),
    ),
    _without("rows are written under their revision", (ledger, "_fits", lambda *_: True)),
    _without(
        "whoever sends again takes a new version",
        (requeue, "requeue", removals.requeue_same_version),
        (embed, "requeue", removals.requeue_same_version),
    ),
    _without(
        "a task's deduplication id has the version",
        (tasks, "deduplication_id", lambda row, *_: digest(row)),
    ),
    # Changes.
    _without(
        "a change older than the last one is dropped",
        (plan, "_without_new_version", removals.take_older_changes),
    ),
    _without(
        "a repeated change is sent again if its task waits",
        (plan, "_without_new_version", removals.send_once),
    ),
    _without(
        "unchanged is asked of closed rows only",
        (plan, "accept", removals.accept_with_hash),
        (plan, "HASHED", tuple(Status)),
    ),
    _without(
        "unchanged holds for one index only",
        (plan, "_is_unchanged", removals.unchanged_in_any_index),
    ),
    _without(
        "an open row does not expire",
        (plan, "accept", partial(removals.keep_expiry, transitions.accept)),
        (requeue, "requeue", partial(removals.keep_expiry, transitions.requeue)),
    ),
    # Tasks.
    _without("an item is read as it is now", (MemorySource, "read", removals.read_a_write_late)),
    _without("of a batch the newest version is worked", (receive, "_age", lambda _: 0)),
    _without("an older version is not worked", (receive, "admit", removals.admit_older_versions)),
    _without("a version that ended is not worked", (admit, "_without_work", removals.work_again)),
    _without("one delivery is worked once", (admit, "_without_work", removals.work_twice)),
    _without("copies of a task become one", (receive, "admit", removals.work_each_copy)),
    _without(
        "only a message that was sent later restarts a failed row",
        (admit, "_without_work", removals.restart_always),
    ),
    _without(
        "a task that ended a run is worked apart",
        (admit, "quarantine_of", lambda *_: Quarantine.NONE),
        (receive, "quarantine_of", lambda *_: Quarantine.NONE),
    ),
    _without("a proven crash spends an attempt", (admit, "_has_crashed", lambda _: False)),
    _without("one worker asks after a cooldown", (MemoryControl, "claim", removals.claim_always)),
    _without("a backfill sends its last page again", (owe, "plan_owed", removals.owe_once)),
    # The index.
    _without(
        "the index refuses older versions", (MemoryIndex, "_write", removals.write_any_version)
    ),
    _without(
        "the index refuses an equal version",
        (MemoryIndex, "_write", removals.write_over_an_equal_version),
    ),
    _without(
        "each version is written, also with the same content",
        (embed, "write_entries", removals.write_only_what_differs),
    ),
    _without(
        "an entry of the same version closes the row as it is",
        (embed, "write_entries", removals.complete_from_this_run),
    ),
    _without(
        "a run closes rows of its own version only",
        (Finish, "_decide", removals.close_any_version),
    ),
    _without(
        "after a lost write the row that stands is announced",
        (closing, "_announce", lambda *_: set()),
        (Receive, "_announced_again", lambda _, verdict, *__: verdict),
    ),
    _without(
        "a request is counted before it is sent",
        (Spending, "reserve", lambda *_: None),
    ),
    _without("a delete leaves a tombstone", (MemoryIndex, "_write", removals.delete_for_real)),
    _without("a tombstone is kept for a day", (purge, "KEPT_MS", 0)),
    _without(
        "the purge removes tombstones only",
        (MemoryIndex, "_remove", removals.remove_whatever_it_is),
    ),
)
