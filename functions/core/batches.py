"""Lists cut to the sizes that an API takes."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in order, at most `size` at a time."""
    waiting = iter(items)
    while batch := list(islice(waiting, size)):
        yield batch


def batches_by_size(
    items: Iterable[T], size_of: Callable[[T], int], *, max_size: int, max_items: int | None = None
) -> Iterator[list[T]]:
    """Yield the items in order, at most so large together; one above the limit comes alone."""
    batch: list[T] = []
    total = 0
    for item in items:
        size = size_of(item)
        if batch and (total + size > max_size or len(batch) == max_items):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch
