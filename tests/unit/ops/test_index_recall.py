"""What the index finds against a search that looks at every vector."""

import pytest

from ops.index_recall import share_found

NEAREST = [(f"d{number}", 1.9 - number / 100) for number in range(20)]
TEN = [name for name, _ in NEAREST[:10]]


@pytest.mark.parametrize(
    ("found", "share"),
    [
        (TEN, 1.0),
        (list(reversed(TEN)), 1.0),
        ([*TEN[:9], "d10"], 0.9),
        (TEN[:5], 0.5),
        ([], 0.0),
    ],
)
def test_share_of_the_ten_nearest(found: list[str], share: float) -> None:
    """R52: in any order; the eleventh is none of them."""
    assert share_found(found, NEAREST) == share


def test_documents_as_near_as_the_tenth_are_as_good() -> None:
    """R52: those with the same text come in any order."""
    same = [(name, 1.5) for name, _ in NEAREST]

    assert share_found([name for name, _ in same[10:]], same) == 1.0


def test_index_of_a_few_documents() -> None:
    """R52: all of them are the nearest; of none there is no share."""
    assert share_found(["d0"], NEAREST[:2]) == 0.5
    assert share_found([], []) is None
