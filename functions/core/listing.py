"""What the sparse index lists, looked up in its rows: a start does not write to the index."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from functions.core.batches import batches
from functions.core.ports import Ledger, Listed

# BatchGetItem's limit.
ROUND_ROWS = 100
# Of a million open rows only the oldest are read: most of those in work are among them.
MOST_READ = 1000


def still_due(
    ledger: Ledger, listed: Iterable[Listed], *, due_ms: int, most: int = MOST_READ
) -> Iterator[Listed]:
    """Leave out what a run has started since; of many rows only the first are looked up."""
    waiting = iter(listed)
    for part in batches(islice(waiting, most), ROUND_ROWS):
        rows = ledger.read(one.row_key for one in part)
        for one in part:
            row = rows.get(one.row_key)
            if row is not None and row.due_ms <= due_ms:
                yield replace(one, status=row.status, due_ms=row.due_ms)
    yield from waiting
