"""Requests: as few as the limits allow."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.embed.packing import (
    LARGEST_SHARING_TOKENS,
    OWN_REQUEST_TOKENS,
    Past,
    Piece,
    halves,
    pack,
)

INPUTS = 2048
PIECES = st.lists(st.tuples(st.integers(1, 8192), st.integers(0, 5)), max_size=200).map(
    lambda rows: [Piece(str(n), "x", tokens, doc) for n, (tokens, doc) in enumerate(rows)]
)


@given(pieces=PIECES, limit=st.integers(8192, 300_000))
def test_every_piece_is_asked_for_once_within_the_limits(pieces: list[Piece], limit: int) -> None:
    """R09: inputs and tokens per request."""
    requests = pack(pieces, max_tokens=limit, max_inputs=INPUTS)

    asked = [piece for request in requests for piece in request]
    assert sorted(asked, key=lambda piece: int(piece.hash)) == pieces
    assert all(sum(piece.tokens for piece in request) <= limit for request in requests)
    assert all(len(request) <= INPUTS for request in requests)


@given(pieces=PIECES, limit=st.integers(8192, 300_000))
def test_no_two_neighbours_would_fit_into_one(pieces: list[Piece], limit: int) -> None:
    """R09: fewer requests than twice the least, and none cut early."""
    requests = pack(pieces, max_tokens=limit, max_inputs=INPUTS)

    sizes = Counter[int]()
    for piece in pieces:
        sizes[piece.document] += piece.tokens
    for one, other in pairwise(requests):
        may_share = sizes[one[0].document] <= LARGEST_SHARING_TOKENS
        tokens = sum(piece.tokens for piece in [*one, other[0]])
        if may_share and sizes[other[0].document] <= LARGEST_SHARING_TOKENS:
            assert tokens > limit
        elif one[0].document == other[0].document:
            assert tokens > min(limit, OWN_REQUEST_TOKENS)


def _packed(*pieces: Piece, max_tokens: int = 300_000) -> list[list[str]]:
    requests = pack(pieces, max_tokens=max_tokens, max_inputs=INPUTS)
    return [[piece.hash for piece in request] for request in requests]


def test_small_documents_wait_for_no_large_one() -> None:
    """R09 R22: they come first, and share no request with it."""
    large = [Piece(f"large {n}", "x", LARGEST_SHARING_TOKENS // 2 + n, 1) for n in range(2)]
    huge = [Piece(f"huge {n}", "x", 8000, 2) for n in range(5)]
    small = [Piece("small", "x", 100, 3), Piece("middle", "x", LARGEST_SHARING_TOKENS, 4)]

    assert _packed(*huge, *large, *small) == [
        ["small", "middle"],
        ["large 0", "large 1"],
        ["huge 0", "huge 1"],
        ["huge 2", "huge 3"],
        ["huge 4"],
    ]


def test_isolated_document_has_requests_of_its_own() -> None:
    """R10 R26: after the others, and the one that took the longest last."""
    pieces = [
        Piece("slow", "x", 10, 0, Past(has_failed_often=True, timeouts=2)),
        Piece("failed", "x", 10, 1, Past(has_failed_often=True)),
        Piece("throttled", "x", 10, 2, Past(throttles=3)),
        Piece("first", "x", 10, 3),
        Piece("second", "x", 10, 4),
    ]

    assert _packed(*pieces) == [["first", "second"], ["failed"], ["throttled"], ["slow"]]


@pytest.mark.parametrize(("throttles", "requests"), [(2, 1), (3, 1), (6, 8), (9, 64), (90, 64)])
def test_requests_that_are_throttled_again_and_again_become_smaller(
    throttles: int, requests: int
) -> None:
    """R23: one above what the provider takes at once would be throttled for ever."""
    pieces = [Piece(str(n), "x", 10, 0, Past(throttles=throttles)) for n in range(64)]

    assert len(_packed(*pieces)) == requests


@pytest.mark.parametrize(("timeouts", "requests"), [(1, 1), (2, 8), (3, 64), (9, 64)])
def test_requests_of_a_document_that_takes_too_long_become_smaller(
    timeouts: int, requests: int
) -> None:
    """R10 R27: fewer chunks fail with the one for which the provider hangs."""
    past = Past(has_failed_often=True, timeouts=timeouts)
    pieces = [Piece(str(n), "x", 10, 0, past) for n in range(64)]

    assert len(_packed(*pieces)) == requests


def test_isolated_document_that_failed_least_comes_first() -> None:
    """R10: a failure may stop all that comes behind it, by a cooldown."""
    often, once = Past(throttles=3, failures=4), Past(throttles=3, failures=1)

    packed = _packed(Piece("often", "x", 10, 0, often), Piece("once", "x", 90, 1, once))

    assert packed == [["once"], ["often"]]


@pytest.mark.parametrize("is_isolated", [False, True])
def test_request_is_filled_to_its_last_token(is_isolated: bool) -> None:
    """R09: the first one as well as those after it, and those of one document alone."""
    past = Past(has_failed_often=is_isolated)
    pieces = [Piece(str(n), "x", 50, 0 if is_isolated else n, past) for n in range(5)]

    assert [len(request) for request in _packed(*pieces, max_tokens=100)] == [2, 2, 1]


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
