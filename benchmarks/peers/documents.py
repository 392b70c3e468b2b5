"""The documents of a run, and what changes in them. Pure.

A text is made of its document's name and revision, so that an old one is never taken for a new one.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass

WORDS = 40  # of two to three tokens: a document of one chunk
CHANGED_SHARE = 3  # one in so many
DELETED_SHARE = 10

Texts = Mapping[str, str]  # by document


@dataclass(frozen=True)
class Round:
    """One change of the source: what is written, what is deleted, what it holds afterwards."""

    puts: Texts
    deletes: frozenset[str]
    after: Texts

    @property
    def needed(self) -> int:
        """Count the texts that must be sent to the provider."""
        return len(self.puts)


def load(documents: int, seed: int) -> Round:
    """Write all documents for the first time."""
    texts = {f"d{number}": _text(f"d{number}", 1, seed) for number in range(documents)}
    return Round(texts, frozenset(), texts)


def update(before: Texts, seed: int) -> Round:
    """Change one text in three, delete one document in ten."""
    names = sorted(before)
    random.Random(seed).shuffle(names)
    changed, others = names[: len(names) // CHANGED_SHARE], names[len(names) // CHANGED_SHARE :]
    deletes = frozenset(others[: len(names) // DELETED_SHARE])
    puts = {name: _text(name, 2, seed) for name in changed}
    kept = {name: text for name, text in before.items() if name not in deletes}
    return Round(puts, deletes, kept | puts)


def _text(name: str, revision: int, seed: int) -> str:
    words = random.Random(f"{seed} {name} {revision}")
    return " ".join(f"word{words.randrange(5000)}" for _ in range(WORDS))
