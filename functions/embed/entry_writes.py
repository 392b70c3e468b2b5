"""Entries -> index. What the index answers decides; nothing is checked twice before."""

from collections.abc import Mapping, Sequence

from functions.core.entry import Entry, StoredEntry, Tombstone, Written
from functions.core.identity import RowKey
from functions.core.ports import VectorIndex
from functions.embed.ending import Ending, Failed, Indexed, Removed, Superseded
from functions.embed.job import Job

Writes = Sequence[tuple[Job, Entry | Tombstone]]


def write_entries(
    index: VectorIndex, entries: Writes, *, tokens: Mapping[RowKey, int]
) -> dict[RowKey, Ending]:
    """Write entries and tombstones under their versions; return how each one ended."""
    if not entries:
        return {}
    results = index.write(
        [entry for _, entry in entries],
        # Bulk work does not wait for the index to refresh; a live write is found by the next
        # search.
        searchable_now=any(job.task.lane.traits.is_searchable_at_once for job, _ in entries),
    )
    endings: dict[RowKey, Ending] = {}
    conflicts: list[tuple[Job, Entry | Tombstone]] = []
    for job, entry in entries:
        match results[job.entry_id]:
            case Written.WRITTEN:
                endings[job.key] = _written(entry, tokens.get(job.key, 0))
            case Written.CONFLICT:
                conflicts.append((job, entry))
            case failure:
                endings[job.key] = Failed(failure, entry.content_hash)
    if conflicts:
        stored = index.read([job.entry_id for job, _ in conflicts])
        for job, _ in conflicts:
            endings[job.key] = _conflicting(job, stored.get(job.entry_id))
    return endings


def _written(entry: Entry | Tombstone, tokens: int) -> Ending:
    if isinstance(entry, Tombstone):
        return Removed(entry.reason, entry.content_hash)
    return Indexed(entry.content_hash, len(entry.chunks), entry.chunks_failed, tokens)


def _conflicting(job: Job, stored: StoredEntry | None) -> Ending:
    if stored is None or stored.version != job.task.version:
        return Superseded()
    # A run that crashed has written this very version: the row is completed from what that run
    # wrote, which may differ from what this one has read.
    if stored.deleted:
        return Removed(stored.reason, stored.content_hash)
    return Indexed(stored.content_hash, stored.chunks, stored.chunks_failed)
