"""What must hold when a history has settled: each violation as one line."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.histories.engines import ENDED, KILLER, POISON
from benchmarks.histories.world import FOREIGN, KILL_OF_AN_OVERTAKEN_RUN, World
from functions.core.entry import Entry
from functions.core.identity import entry_id
from functions.core.task import parse_task

# Below the day after which the sweep takes a document for stuck: no message may be missing.
LONGEST_WAIT_MS = 20 * 3_600_000
LOSES_MESSAGES = {"lost lane", "a month passed"}
SENDS_AGAIN = ("copied task", "redrive", "stream records again", "requeue", "recover", "backfill")


def violations(world: World) -> list[str]:
    """Compare the table with the index, the ledger, the dead letters and the events."""
    checks = (_documents, _rows, _events, _restarts, _dead_letters)
    found = [line for check in checks for line in check(world)] + world.ledger.forbidden
    if world.control.double_claims:
        found.append("two workers asked on behalf of all after a cooldown")
    if world.has_budget and world.provider.billed > world.control.counted:
        found.append(f"billed {world.provider.billed} tokens, counted {world.control.counted}")
    return found


def _documents(world: World) -> Iterator[str]:
    stored = {item["id"]["S"]: item["body"]["S"] for item in world.table.items.values()}
    found = {
        entry.document_id: " ".join(chunk.text for chunk in entry.chunks)
        for entry in world.pipeline.indexes["default"].entries.values()
        if isinstance(entry, Entry)
    }
    for name in sorted(stored.keys() | found.keys()):
        wanted = stored.get(name, "")
        if _is_harmful(wanted):
            continue  # its last good version stays searchable
        if wanted and name not in found:
            yield f"{name}: lost"
        elif not wanted and name in found:
            yield f"{name}: deleted, and found"
        elif wanted != found.get(name, ""):
            yield f"{name}: stale"


def _rows(world: World) -> Iterator[str]:
    entries = world.pipeline.indexes["default"].entries
    for row in world.pipeline.ledger.rows.values():
        name = row.task.document_id
        if row.status in ENDED:
            entry = entries.get(entry_id(row.task.source, row.task.document_id))
            if entry is not None and entry.version != row.task.version:
                yield f"{name}: ended with version {row.task.version}, entry {entry.version}"
            waited_ms = (row.outcome.completed_ms or 0) - world.settling_ms
            if waited_ms > LONGEST_WAIT_MS and not world.faults.keys() & LOSES_MESSAGES:
                yield f"{name}: waited {waited_ms // 3_600_000} hours after the last fault"
            continue
        if not row.status.is_failed:
            yield f"{name}: ended as {row.status}"
        elif name != FOREIGN and not _is_harmful(_text(world, name)):
            yield f"{name}: failed, although its text is harmless: {row.outcome.reason}"
        elif not row.outcome.reason:
            yield f"{name}: failed without a reason"


def _events(world: World) -> Iterator[str]:
    events = world.pipeline.announcer.events
    # A run that is killed after a false event corrects it when its message comes again: not if
    # that was lost, too, or another run has acknowledged it (decision 16).
    is_lost = {"kill", "lost lane"} <= world.faults.keys()
    is_excused = is_lost or world.faults[KILL_OF_AN_OVERTAKEN_RUN] > 0
    last = {event.document_id: (event.version, event.status) for event in events}
    for row in world.pipeline.ledger.rows.values():
        name = row.task.document_id
        if name not in last:
            yield f"{name}: its end was not announced"
        elif last[name] != (row.task.version, row.status) and not is_excused:
            yield f"{name}: the last event was {last[name]}, the row is {row.status}"


def _restarts(world: World) -> Iterator[str]:
    """A message that is given up stays so: only another one starts its document again."""
    sent_again = sum(world.faults[fault] for fault in SENDS_AGAIN)
    logged = world.pipeline.telemetry.events
    # A stream that brings a change twice sends it twice.
    repeated = Counter(map(_version, (one for name, one in logged if name == "change_repeated")))
    # Events say less: each of several runs with one message announces the same end.
    given_up = Counter(map(_version, (one for name, one in logged if name == "task_given_up")))
    for (name, version), times in given_up.items():
        messages = 1 + sent_again + repeated[name, version]
        if times > messages:
            yield f"{name}: version {version} was given up {times} times with {messages} messages"


def _version(fields: Mapping[str, Any]) -> tuple[str, int]:
    return fields["document_id"], fields["version"]


def _dead_letters(world: World) -> Iterator[str]:
    for body in world.pipeline.queues.dead_letters():
        name = parse_task(body).document_id
        if name not in world.harmful | {FOREIGN}:
            yield f"{name}: a dead letter, although its text was always harmless"


def _text(world: World, name: str) -> str:
    item = world.table.get({"id": {"S": name}})
    return str(item["body"]) if item else ""


def _is_harmful(text: str) -> bool:
    return POISON in text or KILLER in text
