"""Requests: as few as the limits allow."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from functions.embed.packing import Piece, halves, pack

INPUTS = 2048
PIECES = st.lists(st.tuples(st.integers(1, 8192), st.integers(0, 5)), max_size=200).map(
    lambda rows: [Piece(str(n), "x", tokens, doc) for n, (tokens, doc) in enumerate(rows)]
)


@given(pieces=PIECES, limit=st.integers(8192, 300_000))
def test_every_piece_is_asked_for_once_within_the_limits(pieces: list[Piece], limit: int) -> None:
    """R09: inputs and tokens per request."""
    requests = pack(pieces, max_tokens=limit, max_inputs=INPUTS)

    assert [piece for request in requests for piece in request] == pieces
    assert all(sum(piece.tokens for piece in request) <= limit for request in requests)
    assert all(len(request) <= INPUTS for request in requests)


@given(pieces=PIECES, limit=st.integers(8192, 300_000))
def test_no_two_neighbours_would_fit_into_one(pieces: list[Piece], limit: int) -> None:
    """R09: fewer requests than twice the least, and none cut early."""
    requests = pack(pieces, max_tokens=limit, max_inputs=INPUTS)

    for one, other in pairwise(requests):
        assert sum(piece.tokens for piece in [*one, other[0]]) > limit


def test_inputs_are_counted() -> None:
    """R09: 2,048 inputs and not one more."""
    pieces = [Piece(str(number), "x", 1, number) for number in range(4097)]

    requests = pack(pieces, max_tokens=300_000, max_inputs=INPUTS)

    assert [len(request) for request in requests] == [2048, 2048, 1]


@given(pieces=PIECES.filter(lambda pieces: len(pieces) > 1))
def test_halves_are_smaller_and_lose_nothing(pieces: list[Piece]) -> None:
    """R10: halving ends, and a document stays on one side while there are several."""
    first, second = halves(pieces)

    assert first
    assert second
    assert sorted(first + second, key=lambda p: int(p.hash)) == pieces
    documents = {piece.document for piece in pieces}
    if len(documents) > 1:
        assert not {p.document for p in first} & {p.document for p in second}
