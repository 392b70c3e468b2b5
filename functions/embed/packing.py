"""Pieces -> as few provider requests as the limits allow. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """A chunk to pay for: named by its hash, first seen in a document of the batch."""

    hash: str
    text: str
    tokens: int
    document: int


def pack(pieces: Sequence[Piece], *, max_tokens: int, max_inputs: int) -> list[list[Piece]]:
    """Fill requests in order; a piece above the limit stands alone, and the provider decides."""
    requests: list[list[Piece]] = []
    tokens = 0
    for piece in pieces:
        is_full = tokens + piece.tokens > max_tokens
        if not requests or is_full or len(requests[-1]) == max_inputs:
            requests.append([])
            tokens = 0
        requests[-1].append(piece)
        tokens += piece.tokens
    return requests


def halves(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Piece]]:
    """Split a refused request between documents, or inside the only one."""
    documents = sorted({piece.document for piece in pieces})
    if len(documents) == 1:
        middle = len(pieces) // 2
        return list(pieces[:middle]), list(pieces[middle:])
    second = set(documents[len(documents) // 2 :])
    return (
        [piece for piece in pieces if piece.document not in second],
        [piece for piece in pieces if piece.document in second],
    )
