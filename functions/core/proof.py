"""The continuous proof of one pair: a slice an hour, so that all is compared in some days. Pure."""

from dataclasses import dataclass, replace

from functions.core.identity import ItemKey

SLICES_PER_DAY = 24


@dataclass(frozen=True)
class Proof:
    """Which slice is compared, how far it is, and when each one was compared last."""

    verified_ms: tuple[int, ...]  # by slice
    number: int = 0
    after: ItemKey | None = None  # in the table
    in_index: bool = False  # the table's part of the slice is done
    last_entry: str | None = None  # in the index
    revision: int = 0  # 0 before the first write; every write compares it

    @property
    def slices(self) -> int:
        return len(self.verified_ms)

    @property
    def oldest_ms(self) -> int:
        """Return when the slice was compared that was not compared for longest."""
        return min(self.verified_ms)

    def from_the_start(self) -> "Proof":
        """Compare the slice anew: the table is another one than before."""
        return replace(self, after=None)

    def after_table_page(self, last: ItemKey | None) -> "Proof":
        """Move behind a page of the table; after the last one the index is next."""
        return replace(self, after=last, in_index=last is None)

    def after_index_page(self, last: str | None, *, now_ms: int) -> "Proof":
        """Move behind a page of the index; after the last one (None) the next slice is next."""
        if last is not None:
            return replace(self, last_entry=last)
        times = list(self.verified_ms)
        times[self.number] = now_ms
        following = (self.number + 1) % self.slices
        return Proof(tuple(times), following, revision=self.revision)


def proof_for(known: Proof | None, *, days: int, now_ms: int) -> Proof:
    """Return the proof to go on with; one of other days begins anew, as old as it was."""
    slices = days * SLICES_PER_DAY
    if known is None:
        return Proof((now_ms,) * slices)
    if known.slices != slices:
        return Proof((known.oldest_ms,) * slices, revision=known.revision)
    return known
