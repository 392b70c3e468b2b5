"""Lists cut by number and by size: nothing is lost, repeated or out of order."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.batches import batches, batches_by_size


@pytest.mark.parametrize(
    ("items", "found"),
    [([], []), ([1], [[1]]), ([1, 2], [[1, 2]]), ([1, 2, 3], [[1, 2], [3]])],
)
def test_batches_are_full_but_for_the_last(items: list[int], found: list[list[int]]) -> None:
    """R09: at most two at a time; a list, or anything that is read once."""
    assert list(batches(items, 2)) == found
    assert list(batches(iter(items), 2)) == found


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([], []),
        ([4, 6], [[4, 6]]),
        ([4, 7], [[4], [7]]),
        ([4, 7, 3], [[4], [7, 3]]),
        ([11, 1, 1], [[11], [1, 1]]),
        ([1, 11, 1], [[1], [11], [1]]),
        ([0, 0, 0, 0], [[0, 0, 0], [0]]),
        ([9, 1, 0], [[9, 1, 0]]),
    ],
)
def test_batch_is_full_at_its_size_or_its_number(sizes: list[int], found: list[list[int]]) -> None:
    """R09: ten together and three at most; one that is larger comes alone."""
    made = batches_by_size(sizes, lambda size: size, max_size=10, max_items=3)

    assert list(made) == found


def test_number_has_no_limit_unless_it_is_given() -> None:
    """R09: only the size decides then."""
    assert list(batches_by_size([0] * 5000, len_of_nothing, max_size=0)) == [[0] * 5000]


def len_of_nothing(_: int) -> int:
    return 0


@given(sizes=st.lists(st.integers(0, 20)), most=st.integers(1, 20), count=st.integers(1, 5))
def test_batches_by_size_lose_nothing_and_keep_the_order(
    sizes: list[int], most: int, count: int
) -> None:
    """R09: and no batch could have taken the first item of the next one."""
    made = list(batches_by_size(sizes, lambda size: size, max_size=most, max_items=count))

    assert [size for batch in made for size in batch] == sizes
    assert all(batch and len(batch) <= count for batch in made)
    assert all(sum(batch) <= most or len(batch) == 1 for batch in made)
    for batch, following in pairwise(made):
        assert len(batch) == count or sum(batch) + following[0] > most
