"""Documents that failed for now -> the bulk lane, while nobody waits in the live ones."""

from dataclasses import dataclass

from functions.core.ledger_row import Group
from functions.core.transitions import put_in_lane
from functions.sweep.due import is_due
from functions.sweep.holds import healing_rule
from functions.sweep.ports import SecondsLeft
from functions.sweep.tools import Tools


@dataclass(frozen=True)
class Healing:
    """The job that tries once more what ran out of attempts."""

    tools: Tools
    name: str = "healing"

    def run(self, seconds_left: SecondsLeft) -> None:
        """Send every healing row whose time has come; its attempts stay as they are."""
        now_ms = self.tools.clock()
        dispatch = self.tools.dispatch(seconds_left)
        for rows in self.tools.walk.rounds(
            self.name,
            Group.HEALING,
            due_ms=now_ms,
            seconds_left=seconds_left,
            wanted=self.tools.guards.view(healing_rule).allows,
        ):
            dispatch.send(
                [
                    put_in_lane(row, row.task.lane.heals_in)
                    for row in rows
                    if is_due(row, Group.HEALING, now_ms)
                ]
            )
