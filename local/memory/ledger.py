"""What the pipeline stores about its own work, in dictionaries: rows, cursors and the stash."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from functions.core.entry import Vector
from functions.core.identity import RowKey
from functions.core.ledger_row import Group, LedgerRow
from functions.core.ports import START, Cursor, Listed, Swapped


class MemoryLedger:
    """Swaps rows under their revision, as the DynamoDB one does."""

    def __init__(self) -> None:
        self.rows: dict[RowKey, LedgerRow] = {}

    def read(self, keys: Iterable[RowKey]) -> dict[RowKey, LedgerRow]:
        return {key: self.rows[key] for key in keys if key in self.rows}

    def write(self, rows: Sequence[LedgerRow]) -> Swapped:
        swapped = Swapped({}, {})
        for row in rows:
            standing = self.rows.get(row.row_key)
            if _fits(row, standing):
                stored = replace(row, revision=row.revision + 1)
                self.rows[row.row_key] = swapped.stored[row.row_key] = stored
            else:
                swapped.lost[row.row_key] = standing
        return swapped

    def remove(self, row: LedgerRow) -> bool:
        if not _fits(row, self.rows.get(row.row_key)):
            return False
        self.rows.pop(row.row_key, None)
        return True

    def listed(
        self,
        groups: Sequence[Group],
        *,
        due_ms: int | None = None,
        start: Cursor = START,  # noqa: ARG002
    ) -> Iterator[Listed]:
        """Yield all by due time, wherever it is asked to start."""
        for row in sorted(self.rows.values(), key=lambda row: row.listed_ms):
            group, at_ms = row.group, row.listed_ms
            if group is not None and group in groups and (due_ms is None or at_ms <= due_ms):
                yield Listed(row.row_key, row.status.listed, row.task.lane, at_ms, group)


def _fits(row: LedgerRow, standing: LedgerRow | None) -> bool:
    if standing is None:
        return row.revision == 0
    return (standing.revision, standing.created_ms) == (row.revision, row.created_ms)


class MemoryCursors:
    """Remembers a cursor for each job."""

    def __init__(self) -> None:
        self.cursors: dict[str, Cursor] = {}

    def read(self, job: str) -> Cursor:
        return self.cursors.get(job, START)

    def write(self, job: str, cursor: Cursor) -> None:
        self.cursors[job] = cursor


class MemoryStash:
    """Keeps vectors by row and chunk hash."""

    def __init__(self) -> None:
        self._kept: dict[RowKey, dict[str, Vector]] = {}

    def read(self, key: RowKey) -> Mapping[str, Vector]:
        return dict(self._kept.get(key, {}))

    def write(self, key: RowKey, vectors: Mapping[str, Vector]) -> None:
        self._kept.setdefault(key, {}).update(vectors)
