"""Which questions of the gate count. Pure.

Whether a document is found that is on its way says nothing about a target. One that has failed, or
that was lost, is not on its way: its question counts, and the new target loses by it.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from functions.core.document import Document, content_hash
from functions.core.verification import Pair, Sighting, difference
from ops.quality import Judgment


class State(Enum):
    """What one look saw of a document in one target."""

    CURRENT = auto()  # the index holds what the table holds
    DIFFERENT = auto()  # it does not, and the ledger has nothing on its way
    ON_ITS_WAY = auto()  # it does not, and the row of the document is open
    CHANGED = auto()  # the table holds another text than the one that was drawn, or none


def state_of(seen: Sighting, pair: Pair, drawn: Document) -> State:
    """Compare table, index and ledger with the document that a question was taken from."""
    if seen.wanted_hash(pair) != content_hash(drawn, pair.target):
        return State.CHANGED
    # Without the row: another version of the same text is found as well.
    if difference(replace(seen, row=None), pair) is None:
        return State.CURRENT
    is_open = seen.row is not None and seen.row.status.is_open
    return State.ON_ITS_WAY if is_open else State.DIFFERENT


def counts(states: Sequence[State]) -> bool:
    """Tell whether all looks at a document saw it as it should be, or all saw it fail to be.

    A write that has not reached the ledger looks as a lost one does at the first look, and is on
    its way, or there, at a later one.
    """
    return set(states) == {State.CURRENT} or always_different(states)


def always_different(states: Sequence[State]) -> bool:
    """Tell whether all looks saw a document fail to be as it should."""
    return set(states) == {State.DIFFERENT}


@dataclass
class Looks:
    """What was seen of each document in both targets, look by look."""

    old: str  # the name of the old target; what else was looked at is the new one
    states: dict[tuple[str, str], list[State]] = field(default_factory=lambda: defaultdict(list))

    def add(self, target: str, document: str, state: State) -> None:
        """Note what a look saw."""
        self.states[target, document].append(state)

    def why_out(self, judgment: Judgment) -> State | None:
        """Say why a question does not count; None: it does, or nobody has looked yet.

        What the old index lacks is no merit of the new one: coverage counts what the old one has.
        """
        seen = [one for one in self.states.items() if one[0][1] in judgment.relevant]
        if any(State.CHANGED in states for _, states in seen):
            return State.CHANGED
        if any(where == self.old and always_different(states) for (where, _), states in seen):
            return State.DIFFERENT
        return None if all(counts(states) for _, states in seen) else State.ON_ITS_WAY

    def counting(self, judgments: Sequence[Judgment]) -> list[Judgment]:
        """Return the questions whose documents count in both targets."""
        return [one for one in judgments if self.why_out(one) is None]

    def different(self, judgments: Sequence[Judgment]) -> list[Judgment]:
        """Return the questions about documents that every look saw differ in the new target."""
        found = {
            name
            for (where, name), states in self.states.items()
            if where != self.old and always_different(states)
        }
        return [one for one in judgments if not found.isdisjoint(one.relevant)]

    def left_out(self, judgments: Sequence[Judgment]) -> Counter[State]:
        """Count the questions that do not count, by the reason."""
        return Counter(why for one in judgments if (why := self.why_out(one)) is not None)
