"""A slice of a table and of its index, compared; what has drifted is reported, and repaired."""

from collections.abc import Mapping
from dataclasses import dataclass

from functions.backfill.compare import SETTLE_SECONDS, Compare, Difference
from functions.backfill.owe import Owe
from functions.backfill.ports import Errands, ProofStore, SecondsLeft
from functions.backfill.repair import owed_for, repair_all
from functions.core.errand import ProofErrand
from functions.core.identity import DocumentId
from functions.core.ports import Clock, Telemetry
from functions.core.proof import Proof, proof_for
from functions.core.scan import RefusedStartError
from functions.core.verification import buckets_of_slice

PAGE_ITEMS = 500
# What is left then is for the second look, and for the repair.
FINISH_SECONDS = SETTLE_SECONDS + 15.0
# So many are looked at again, and sent again, in that time; the next run goes on. Of an index that
# is empty all documents are suspects.
MOST_SUSPECTS = 5000
# Of a lost index all documents have drifted: the log names some, the metric counts all.
LOGGED_DOCUMENTS = 100


@dataclass(frozen=True)
class Prove:
    """The step with its dependencies."""

    proofs: ProofStore
    errands: Errands
    compares: Mapping[str, Compare]  # by the name of their pair
    owe: Owe
    telemetry: Telemetry
    clock: Clock
    days: int  # 0: nothing is proven
    repairs: bool

    def start(self) -> None:
        """Let each pair compare its next slice."""
        for pair in self.compares if self.days else ():
            self.errands.send(ProofErrand(pair))

    def run(self, errand: ProofErrand, seconds_left: SecondsLeft) -> None:
        """Compare pages of a slice until it is done or the time is; then look again."""
        compare = self.compares.get(errand.proof)
        if compare is None or not self.days:
            return
        known = self.proofs.read(errand.proof)
        proof = before = proof_for(known, days=self.days, now_ms=self.clock())
        suspects: list[DocumentId] = []
        while proof.number == before.number and seconds_left() > FINISH_SECONDS:
            proof, found = self._page(compare, proof)
            suspects += found
            if len(suspects) >= MOST_SUSPECTS:
                break
        drifted = list(compare.confirmed(suspects))
        self._report(compare, drifted)
        if self.repairs and drifted:
            owed = [owed_for(one, compare.pair) for one in drifted]
            repair_all(owed, compare.pair, self.owe)
        if not self.proofs.save(errand.proof, proof):
            # Another message of this pair was faster.
            return
        self.telemetry.count("OldestVerifiedSeconds", (self.clock() - proof.oldest_ms) / 1000)
        if proof.number == before.number:
            self.errands.send(errand)

    def _page(self, compare: Compare, proof: Proof) -> tuple[Proof, list[DocumentId]]:
        if proof.in_index:
            entries = compare.index.page(
                compare.pair.source.name,
                after=proof.last_entry,
                most=PAGE_ITEMS,
                buckets=buckets_of_slice(proof.number, proof.slices),
            )
            last = entries[-1].document_id if entries else None
            found = compare.suspects_among_entries(entries)
            return proof.after_index_page(last, now_ms=self.clock()), found
        try:
            page = compare.table.scan(
                compare.pair.source,
                segment=proof.number,
                segments=proof.slices,
                after=proof.after,
                most=PAGE_ITEMS,
            )
        except RefusedStartError:
            return proof.from_the_start(), []
        return proof.after_table_page(page.last), compare.suspects_among_items(page.items)

    def _report(self, compare: Compare, drifted: list[Difference]) -> None:
        pair = compare.pair
        for difference in drifted[:LOGGED_DOCUMENTS]:
            self.telemetry.event(
                "document_drifted",
                target=pair.target.name,
                source=pair.source.name,
                document_id=difference.document_id,
                difference=str(difference.kind),
            )
        self.telemetry.count("Drifted", len(drifted))
