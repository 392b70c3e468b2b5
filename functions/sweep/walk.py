"""The sparse index, round by round. A walk that is cut off goes on there the next time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from functions.core.batches import batches
from functions.core.ledger_row import Group, LedgerRow
from functions.core.ports import Ledger, Listed
from functions.sweep.ports import Cursors, SecondsLeft
from functions.sweep.requeue import ROUND_ROWS


@dataclass(frozen=True)
class Walk:
    """The ledger, and where each job stopped."""

    ledger: Ledger
    cursors: Cursors

    def rounds(
        self,
        job: str,
        group: Group,
        *,
        due_ms: int,
        seconds_left: SecondsLeft,
        wanted: Callable[[Listed], bool] = lambda _: True,
    ) -> Iterator[list[LedgerRow]]:
        """Yield the rows of a group that are due, a round at a time, read consistently.

        What is not wanted is left out before it is read, as it may be a lot.
        """
        start = self.cursors.read(job)
        listed = self.ledger.listed([group], due_ms=due_ms, start=start)
        for part in batches(self._wanted(listed, job, wanted, seconds_left), ROUND_ROWS):
            if seconds_left() <= 0:
                self.cursors.write(job, part[0].cursor)
                return
            rows = self.ledger.read(one.row_key for one in part).values()
            # The index may be a moment behind the row.
            yield [row for row in rows if row.group is group and row.due_ms <= due_ms]

    def _wanted(
        self,
        listed: Iterable[Listed],
        job: str,
        wanted: Callable[[Listed], bool],
        seconds_left: SecondsLeft,
    ) -> Iterator[Listed]:
        """Leave out what is not wanted; a million of such rows take their time, too."""
        for one in listed:
            if seconds_left() <= 0:
                self.cursors.write(job, one.cursor)
                return
            if wanted(one):
                yield one
