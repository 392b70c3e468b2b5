"""Source, store and provider after a run -> what is lost, stale, double and paid twice. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.peers.documents import Texts

Stored = tuple[str, str]  # document, text


@dataclass(frozen=True)
class Difference:
    """Documents whose state in the store is not that of the source, and copies too many."""

    lost: int  # in the source, and in the store with no text at all
    stale: int  # in the store with another text than in the source, or deleted in the source
    double: int  # copies of a text that is right


def compare(source: Texts, stored: Iterable[Stored]) -> Difference:
    """Count how a store differs from its source."""
    copies = Counter(stored)
    found = {name for name, _ in copies}
    right = [one for one in copies if source.get(one[0]) == one[1]]
    return Difference(
        lost=len(source.keys() - found),
        stale=len({name for name, text in copies if source.get(name) != text}),
        double=sum(copies[one] - 1 for one in right),
    )


@dataclass(frozen=True)
class Sales:
    """What the provider has counted since its start, in texts."""

    requests: int
    sent: int  # in any request, also in one that was cut off
    answered: int  # in answers that were complete

    def __sub__(self, earlier: "Sales") -> "Sales":
        return Sales(
            self.requests - earlier.requests,
            self.sent - earlier.sent,
            self.answered - earlier.answered,
        )

    def paid_twice(self, needed: int) -> int:
        """Count the texts that were answered beyond what was needed."""
        return max(0, self.answered - needed)

    @property
    def cut_off(self) -> int:
        """Count the texts of requests that a kill left without an answer."""
        return self.sent - self.answered
