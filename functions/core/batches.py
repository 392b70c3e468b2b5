"""Lists cut to the sizes that an API takes."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in order, at most `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
