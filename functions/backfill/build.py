"""The steps of backfill put together from their parts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from functions.backfill.compare import Compare
from functions.backfill.owe import Owe
from functions.backfill.ports import (
    Errands,
    IndexReader,
    JobStore,
    ProofStore,
    SecondsLeft,
    Table,
    Wait,
)
from functions.backfill.process import Backfill
from functions.backfill.prove import Prove
from functions.core.errand import Errand, SegmentErrand
from functions.core.ports import Clock, Ledger, TaskQueue, Telemetry
from functions.core.settings import SourceSettings, TargetSettings, VerifySettings
from functions.core.verification import Pair


class UnknownJobError(ValueError):
    """The event names no job of the function."""


@dataclass(frozen=True)
class Steps:
    """What the function does: segments of backfills, and the proof."""

    backfill: Backfill
    prove: Prove

    def tick(self, job: str) -> None:
        """Do what the clock asks for."""
        match job:
            case "jobs":
                self.backfill.look_after()
            case "proof":
                self.prove.start()
            case _:
                raise UnknownJobError(f"the event's job is {job!r}; it is one of: jobs, proof")

    def run(self, errand: Errand, seconds_left: SecondsLeft) -> None:
        """Go on with a segment, or with the proof of a pair."""
        if isinstance(errand, SegmentErrand):
            self.backfill.run(errand, seconds_left)
        else:
            self.prove.run(errand, seconds_left)


def build_backfill(
    *,
    table: Table,
    indexes: Mapping[str, IndexReader],
    ledger: Ledger,
    queue: TaskQueue,
    jobs: JobStore,
    proofs: ProofStore,
    errands: Errands,
    telemetry: Telemetry,
    clock: Clock,
    wait: Wait,
    sources: Sequence[SourceSettings],
    targets: Iterable[TargetSettings],
    verify: VerifySettings,
) -> Steps:
    """Put the steps together from their dependencies."""
    pairs = [
        Pair(source, target)
        for target in targets
        for source in sources
        if target.name in source.targets
    ]
    compares = {
        pair.name: Compare(table, indexes[pair.target.name], ledger, wait, pair) for pair in pairs
    }
    owe = Owe(ledger, queue, telemetry, clock)
    return Steps(
        backfill=Backfill(jobs, errands, compares, owe, queue, telemetry, clock),
        prove=Prove(proofs, errands, compares, owe, telemetry, clock, verify.days, verify.repair),
    )
