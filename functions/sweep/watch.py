"""Which index each target has: what was written to another one is not in it."""

from collections.abc import Mapping
from dataclasses import dataclass

from functions.core.control import lost_index
from functions.core.failure import FailureError
from functions.core.ports import ControlStore, Telemetry
from functions.sweep.ports import IndexAdmin, SecondsLeft


@dataclass(frozen=True)
class WatchIndexes:
    """The job that finds an index which was lost or replaced."""

    admin: IndexAdmin
    control: ControlStore
    telemetry: Telemetry
    aliases: Mapping[str, str]  # by target
    name: str = "watch"

    def run(self, seconds_left: SecondsLeft) -> None:
        """Compare the index of each target with the one that is known."""
        for target, alias in self.aliases.items():
            if seconds_left() <= 0:
                return
            try:
                self._watch(target, alias)
            except FailureError as error:
                # An index that does not answer is for its breaker.
                self.telemetry.event("index_not_seen", target=target, failure=str(error))

    def _watch(self, target: str, alias: str) -> None:
        known = self.control.read(target).index_uuid
        found = self.admin.uuid(alias)
        lost = lost_index(alias, known=known, found=found)
        self.telemetry.count("LostIndexes", int(lost is not None))
        if lost is not None:
            self.telemetry.event("index_lost", target=target, index=alias, reason=lost)
        if found is not None and found != known:
            self.control.note_index(target, before=known, after=found)
