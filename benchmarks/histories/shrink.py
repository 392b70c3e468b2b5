"""A failing history -> a shorter one that fails too."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shrink(steps: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Leave out parts as long as the rest still fails: halves first, single steps last."""
    kept = list(steps)
    size = len(kept) // 2
    while size:
        start = 0
        while start < len(kept):
            shorter = kept[:start] + kept[start + size :]
            if fails(shorter):
                kept = shorter
            else:
                start += size
        size = size // 2
    return kept
