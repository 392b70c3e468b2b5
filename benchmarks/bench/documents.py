"""The documents of all questions: 1 KB of words of real texts, one chunk each."""

import random
from functools import cache
from typing import Any

from functions.core.lane import Lane
from ops.demo.corpus import fables

BYTES = 1000  # of an item, with its names and its key
WORDS = 300


def make_item(name: str, lane: Lane) -> dict[str, Any]:
    """Make an item whose text nobody else has."""
    item = {"id": name, "title": name, "priority": str(lane)}
    taken = sum(len(key) + len(value) for key, value in item.items()) + len("body")
    return {**item, "body": make_text(name, BYTES - taken)}


def make_text(name: str, characters: int) -> str:
    """Make up a text of so many characters, the same for the same name."""
    text = " ".join(random.Random(name).choices(_vocabulary(), k=WORDS))
    return text[:characters]


@cache
def _vocabulary() -> list[str]:
    """Return words of real texts: of made-up ones nobody agrees how many tokens they are."""
    words = {word for fable in fables() for word in fable["body"].split()}
    return sorted(word for word in words if word.isascii())
