"""Table against index, page by page; what differs is looked at again before it is called so."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from functions.backfill.ports import IndexReader, Table, Wait
from functions.core.batches import batches
from functions.core.entry import StoredEntry
from functions.core.identity import DocumentId, EntryId, ItemKey, bucket_of, entry_id, row_key
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Ledger
from functions.core.scan import ScannedItem
from functions.core.swap import readable_rows
from functions.core.verification import Kind, Pair, Sighting, difference, is_known

# BatchGetItem's limit, and a small answer of OpenSearch's.
ROUND_DOCUMENTS = 100
# From a write to its ledger row, and from a closed row to an index that was refreshed.
SETTLE_SECONDS = 10.0


@dataclass(frozen=True)
class Difference:
    """A document whose entry is not what its item asks for, seen twice."""

    kind: Kind
    seen: Sighting
    key: ItemKey

    @property
    def document_id(self) -> DocumentId:
        return self.seen.document_id

    @property
    def changed_ms(self) -> int:
        """When ledger or index have last seen a change of it, as far as they know."""
        row, entry = self.seen.row, self.seen.entry
        return max(row.queued_ms if row else 0, entry.written_ms if entry else 0)


@dataclass(frozen=True)
class Compare:
    """One table and one index, with what reads them."""

    table: Table
    index: IndexReader
    ledger: Ledger
    wait: Wait
    pair: Pair

    def with_rows(self, items: Sequence[ScannedItem]) -> Iterator[Sighting]:
        """Yield items with what the ledger says of them; none whose rows newer code wrote."""
        for part in batches(items, ROUND_DOCUMENTS):
            rows = self._rows([one.document_id for one in part])
            for one in part:
                if one.document_id in rows:
                    yield Sighting(one.document_id, one.item, row=rows[one.document_id])

    def suspects_among_items(
        self, items: Sequence[ScannedItem], buckets: Collection[int] | None = None
    ) -> list[DocumentId]:
        """Return the documents of some buckets whose entries seem to differ, not yet proven."""
        wanted = [
            one
            for one in items
            if buckets is None or bucket_of(self._entry_id(one.document_id)) in buckets
        ]
        unknown = [seen for seen in self.with_rows(wanted) if not is_known(seen.row)]
        return [
            seen.document_id
            for part in batches(unknown, ROUND_DOCUMENTS)
            for seen in self.with_entries(part)
            if difference(seen, self.pair)
        ]

    def suspects_among_entries(self, entries: Sequence[StoredEntry]) -> list[DocumentId]:
        """Return the documents of live entries that no item seems to ask for."""
        names = [entry.document_id for entry in entries]
        found = self.table.read(self.pair.source, names)
        sightings = (
            Sighting(name, found[name].item if name in found else None, entry)
            for name, entry in zip(names, entries, strict=True)
        )
        return [s.document_id for s in sightings if difference(s, self.pair) is Kind.ORPHANED]

    def confirmed(self, suspects: Sequence[DocumentId]) -> Iterator[Difference]:
        """Look at suspects once more, after a while, and yield those that differ all the same.

        What is on its way, or has failed, is known to the ledger, which says so itself.
        """
        if suspects:
            self.wait(SETTLE_SECONDS)
        for part in batches(list(dict.fromkeys(suspects)), ROUND_DOCUMENTS):
            # The row first: what is closed there is in the index by now.
            rows = self._rows(part)
            doubtful = [name for name, row in rows.items() if not is_known(row)]
            found = self.table.read(self.pair.source, doubtful)
            sightings = [
                Sighting(name, found[name].item if name in found else None, row=rows[name])
                for name in doubtful
            ]
            for seen in self.with_entries(sightings):
                kind = difference(seen, self.pair)
                if kind is not None:
                    key = self.table.key_of(self.pair.source, seen.document_id)
                    yield Difference(kind, seen, key)

    def _rows(self, names: Sequence[DocumentId]) -> dict[DocumentId, LedgerRow | None]:
        keys = {row_key(self.pair.target.name, self._source, name): name for name in names}
        return {keys[key]: row for key, row in readable_rows(self.ledger, keys).items()}

    def with_entries(self, sightings: Sequence[Sighting]) -> list[Sighting]:
        """Add what the index holds."""
        ids = [self._entry_id(seen.document_id) for seen in sightings]
        entries = self.index.summaries(ids)
        without = self.index.without_vectors(list(entries))
        return [
            replace(seen, entry=entries.get(id_), has_vectors=id_ not in without)
            for id_, seen in zip(ids, sightings, strict=True)
        ]

    @property
    def _source(self) -> str:
        return self.pair.source.name

    def _entry_id(self, name: DocumentId) -> EntryId:
        return entry_id(self._source, name)
