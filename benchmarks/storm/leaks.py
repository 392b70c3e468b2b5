"""What must stand in no output: texts, vectors and the provider's key. Pure."""

import re
from collections.abc import Iterable, Iterator

# As texts.py writes them: a word of a paragraph, a title, and the sentence that is refused.
TEXT = re.compile(r"\bword\d+ word\d+\b|\bTitle of \w|\bThe provider refuses \w")
# Numbers of a vector one after the other, or as base64; a dozen numbers are no measure.
VECTOR = re.compile(r"(?:-?0?\.\d{3,}(?:e-?\d+)?[,\s]+){8}|[A-Za-z0-9+/]{120,}")
SHOWN_CHARACTERS = 80


def leaks(lines: Iterable[str], *, key: str) -> Iterator[str]:
    """Yield what lines hold of it, each with its beginning."""
    kinds = {"text": TEXT, "vector": VECTOR, "key": re.compile(re.escape(key))}
    for line in lines:
        for kind, pattern in kinds.items():
            if found := pattern.search(line):
                yield f"{kind} {found[0][:SHOWN_CHARACTERS]!r} in {line[:SHOWN_CHARACTERS]!r}"
