"""Parked rows -> their lanes, when they are due; also a requeue that was never confirmed."""

from dataclasses import dataclass

from functions.core.ledger_row import Group, LedgerRow
from functions.sweep.holds import due_rule
from functions.sweep.ports import SecondsLeft
from functions.sweep.tools import Tools


@dataclass(frozen=True)
class Due:
    """The job of each minute."""

    tools: Tools
    name: str = "due"

    def run(self, seconds_left: SecondsLeft) -> None:
        """Send every parked row whose time has come."""
        now_ms = self.tools.clock()
        dispatch = self.tools.dispatch(seconds_left)
        for rows in self.tools.walk.rounds(
            self.name,
            Group.PARKED,
            due_ms=now_ms,
            seconds_left=seconds_left,
            wanted=self.tools.guards.view(due_rule).allows,
        ):
            # The index may be a moment behind the row.
            dispatch.send([row for row in rows if is_due(row, Group.PARKED, now_ms)])


def is_due(row: LedgerRow, group: Group, now_ms: int) -> bool:
    """Tell whether a row still is where the index has found it."""
    return row.group is group and row.due_ms <= now_ms
