"""What the stream's mapping has given up -> enqueue, once more. Positions keep it in order."""

from dataclasses import dataclass

from functions.core.change import UnreadableBatchError
from functions.core.failure import FailureError
from functions.core.ports import Telemetry
from functions.sweep.ports import ChangeTaker, FailedChanges, SecondsLeft


class ReplayError(Exception):
    """Some failed changes could not be replayed; they are kept and tried again."""


@dataclass(frozen=True)
class Replay:
    """The job that brings failed changes back."""

    failed_changes: FailedChanges
    enqueue: ChangeTaker
    telemetry: Telemetry
    name: str = "replay"

    def run(self, seconds_left: SecondsLeft) -> None:
        """Replay each batch; remove it only after all of it is in the ledger and its lane."""
        broken: dict[str, str] = {}
        for name in self.failed_changes.names():
            if seconds_left() <= 0:
                break
            try:
                self._replay(name)
            except (FailureError, UnreadableBatchError, ReplayError) as error:
                # One bad batch never stops another.
                self.telemetry.event("changes_not_replayed", batch=name, reason=str(error))
                broken[name] = str(error)
        if broken:
            name, why = next(iter(broken.items()))
            raise ReplayError(f"{len(broken)} batches, such as {name}: {why}")

    def _replay(self, name: str) -> None:
        changes, rejected = self.failed_changes.read(name)
        self.enqueue.reject(rejected)
        failed = self.enqueue.process(changes)
        if failed:
            raise ReplayError(f"{len(failed)} of {len(changes)} changes were not sent")
        self.failed_changes.remove(name)
        self.telemetry.event("changes_replayed", batch=name, changes=len(changes))
        self.telemetry.count("ChangesReplayed", len(changes))
