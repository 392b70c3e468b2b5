"""Pieces -> few provider requests, in which no small document waits for a large one. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from functions.core.batches import batches_by_size

# A document above this has requests of its own: the others need not wait for it.
LARGEST_SHARING_TOKENS = 8192
# These are smaller than the provider allows: what one of them has paid is kept if the next fails.
OWN_REQUEST_TOKENS = 16_384
# After so many runs that were throttled a document has requests of its own, and after so many
# more these are an eighth of what they were: they may be above what the provider takes at once.
# After each timeout but the first they are, too: fewer chunks wait for the one that has caused it.
THROTTLES_PER_STEP = 3


@dataclass(frozen=True)
class Past:
    """How the provider has answered for a document before."""

    has_failed_often: bool = False
    failures: int = 0  # provider errors and timeouts in a row
    timeouts: int = 0  # in a row
    throttles: int = 0
    is_last: bool = False  # one more failure may give it up: it is not to share that of others

    @property
    def is_throttled_often(self) -> bool:
        return self.throttles >= THROTTLES_PER_STEP

    @property
    def is_isolated(self) -> bool:
        """Tell whether it may be the cause of failures: it has requests of its own then."""
        return self.has_failed_often or self.is_throttled_often

    @property
    def parts(self) -> int:
        """The number of requests into which its own is split."""
        steps = max(self.throttles // THROTTLES_PER_STEP, self.timeouts)
        return 1 << 3 * max(steps - 1, 0)


NO_PAST = Past()


@dataclass(frozen=True)
class Piece:
    """A chunk to pay for: named by its hash, first seen in a document of the batch."""

    hash: str
    text: str
    tokens: int
    document: int
    past: Past = NO_PAST
    is_shared: bool = False  # another document of the batch has it, too


def pack(pieces: Sequence[Piece], *, max_tokens: int, max_inputs: int) -> list[list[Piece]]:
    """Fill requests: first those that documents share, last those that are the likeliest to fail.

    A piece above the limit stands alone, and the provider decides.
    """
    sizes: Counter[int] = Counter()
    for piece in pieces:
        sizes[piece.document] += piece.tokens
    shared: list[Piece] = []
    own: dict[int, list[Piece]] = {}
    for piece in pieces:
        if piece.past.is_isolated or sizes[piece.document] > LARGEST_SHARING_TOKENS:
            own.setdefault(piece.document, []).append(piece)
        else:
            shared.append(piece)
    requests = list(_fill(shared, max_tokens, max_inputs))
    for document in sorted(own, key=lambda document: (*_risk(own[document][0]), sizes[document])):
        part_tokens = -(-sizes[document] // own[document][0].past.parts)
        most = min(max_tokens, part_tokens, OWN_REQUEST_TOKENS)
        requests += _fill(own[document], most, max_inputs)
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


def by_document(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Split a request into one for each document."""
    return [
        [piece for piece in pieces if piece.document == document]
        for document in dict.fromkeys(piece.document for piece in pieces)
    ]


def _risk(piece: Piece) -> tuple[bool, int, int]:
    past = piece.past
    # What has failed most may stop those behind it: by a timeout, or by a cooldown for all.
    return past.is_isolated, past.timeouts, past.failures


def _fill(pieces: Iterable[Piece], max_tokens: int, max_inputs: int) -> Iterator[list[Piece]]:
    return batches_by_size(
        pieces, lambda piece: piece.tokens, max_size=max_tokens, max_items=max_inputs
    )
