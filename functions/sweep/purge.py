"""Old tombstones -> gone, then their rows. A day is longer than any run that could be late."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from functions.core.failure import FailureError
from functions.core.identity import entry_id
from functions.core.ledger_row import Group, LedgerRow
from functions.core.ports import EntryRemoval, Listed
from functions.sweep.jobs import Tools
from functions.sweep.ports import SecondsLeft

KEPT_MS = 24 * 3600 * 1000


class PurgeError(Exception):
    """Tombstones of some targets could not be removed; they are tried again."""


@dataclass(frozen=True)
class Purge:
    """The job that lets the index and the ledger forget deleted documents."""

    tools: Tools
    indexes: Mapping[str, EntryRemoval]  # by target
    name: str = "purge"

    def run(self, seconds_left: SecondsLeft) -> None:
        """Remove what was deleted more than a day ago, the entry before the row."""
        due_ms = self.tools.clock() - KEPT_MS
        broken: dict[str, str] = {}
        for rows in self.tools.walk.rounds(
            self.name,
            Group.DELETED,
            due_ms=due_ms,
            seconds_left=seconds_left,
            wanted=lambda listed: self._is_reachable(listed, broken),
        ):
            for target, index in self.indexes.items():
                try:
                    self._purge(index, [row for row in rows if row.task.target == target])
                except FailureError as error:
                    # One target's index never stops another's.
                    broken[target] = str(error)
        if broken:
            raise PurgeError("; ".join(f"target {name}: {why}" for name, why in broken.items()))

    def _is_reachable(self, listed: Listed, broken: Mapping[str, str]) -> bool:
        return listed.target in self.indexes and listed.target not in broken

    def _purge(self, index: EntryRemoval, rows: Sequence[LedgerRow]) -> None:
        by_entry = {entry_id(row.task.source, row.task.document_id): row for row in rows}
        gone = index.remove({name: row.task.version for name, row in by_entry.items()})
        # A row that has changed meanwhile stays: its document is back.
        removed = sum(self.tools.walk.ledger.remove(by_entry[name]) for name in gone)
        self.tools.telemetry.count("TombstonesPurged", removed)
