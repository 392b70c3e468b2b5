"""Pieces -> vectors. A refused request is halved until the rejected chunk is alone."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import Embedder
from functions.embed.packing import Piece, halves, pack
from functions.embed.run_time import RunTime

if TYPE_CHECKING:
    from functions.core.entry import Vector

# A text that no filter rejects: it tells bad input from bad configuration.
HARMLESS = "probe"
# After so many rejected chunks, and none accepted, stop halving: the whole document is rejected.
REFUSED_CHUNKS = 3


@dataclass
class Vectors:
    """What was paid, what failed, and what was never asked for, all by piece hash."""

    paid: dict[str, "Vector"] = field(default_factory=dict)
    failed: dict[str, Failure] = field(default_factory=dict)
    untouched: set[str] = field(default_factory=set)
    tokens: dict[str, int] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)  # documents with a chunk that was paid
    refused: Counter[int] = field(default_factory=Counter)  # chunks refused, by document
    cause: Failure | None = None  # what is wrong instead of the documents
    requests: int = 0
    unexpected: list[Exception] = field(default_factory=list)


@dataclass(frozen=True)
class Buying:
    """How to pay: the size of a request, and how long to wait for its answer."""

    max_tokens: int
    patience: int = 0  # how often a document among these has waited in vain
    is_failing: bool = False  # many requests fail: smaller ones lose less


def vectorize(
    pieces: Sequence[Piece], embedder: Embedder, buying: Buying, time: RunTime
) -> Vectors:
    """Pay for every piece once."""
    result = Vectors()
    share = 2 if buying.is_failing else 1
    packed = pack(
        pieces,
        max_tokens=buying.max_tokens // share,
        max_inputs=embedder.limits.inputs_per_request // share,
    )
    waiting = packed[::-1]
    while waiting:
        request = waiting.pop()
        timeout = time.timeout_seconds(buying.patience)
        if time.is_too_short(timeout):
            result.untouched.update(piece.hash for piece in request)
            continue
        failure = _buy(request, embedder, timeout, result, waiting)
        if failure is not None and failure.kind.stops_lane:
            _fail(result, [piece for rest in waiting for piece in rest], failure)
            break
    if result.refused and not result.paid:
        _find_the_cause(result, embedder, time)
    return result


def _buy(
    request: list[Piece],
    embedder: Embedder,
    timeout_seconds: float,
    result: Vectors,
    waiting: list[list[Piece]],
) -> Failure | None:
    """Send one request; put its halves in front of the waiting ones if it is refused."""
    result.requests += 1
    try:
        answer = embedder.embed([piece.text for piece in request], timeout_seconds=timeout_seconds)
    except FailureError as error:
        if _can_halve(request, error, result):
            waiting += halves(request)[::-1]
            return None
        _fail(result, request, error.failure)
        return error.failure
    except Exception as error:  # noqa: BLE001
        # What the other requests have paid must not be lost with this one.
        result.unexpected.append(error)
        failure = Failure(FailureKind.UNKNOWN, f"unexpected {type(error).__name__}, see the log")
        _fail(result, request, failure)
        return failure
    result.taken.update(piece.document for piece in request)
    result.paid.update(
        (piece.hash, vector) for piece, vector in zip(request, answer.vectors, strict=True)
    )
    result.tokens.update(_share(request, answer.tokens))
    return None


def _find_the_cause(result: Vectors, embedder: Embedder, time: RunTime) -> None:
    """Send a harmless text after all was refused: with a wrong setting it is refused too."""
    timeout = time.timeout_seconds(0)
    if time.is_too_short(timeout):
        return
    result.requests += 1
    try:
        embedder.embed([HARMLESS], timeout_seconds=timeout)
    except RefusedRequestError as error:
        message = f"the provider refuses even a harmless text: {error.failure.message}"
        result.cause = Failure(FailureKind.CONFIGURATION, message)
    except FailureError as error:
        # The cause is not known yet, so no document is rejected for it.
        result.cause = error.failure
    if result.cause is not None:
        for digest, failure in result.failed.items():
            if _is_refused(failure):
                result.failed[digest] = result.cause


def _is_refused(failure: Failure | None) -> bool:
    return failure is not None and failure.kind is FailureKind.INVALID_INPUT


def _can_halve(request: Sequence[Piece], error: FailureError, result: Vectors) -> bool:
    if len(request) == 1:
        return False
    documents = {piece.document for piece in request}
    if isinstance(error, RefusedRequestError) and len(documents) == 1:
        [document] = documents
        # Some of its chunks may be fine: the rest is searchable then.
        return document in result.taken or result.refused[document] < REFUSED_CHUNKS
    return isinstance(error, RefusedRequestError | TooLargeRequestError)


def _fail(result: Vectors, request: Sequence[Piece], failure: Failure) -> None:
    result.failed.update((piece.hash, failure) for piece in request)
    if _is_refused(failure):
        result.refused.update(piece.document for piece in request)


def _share(request: Sequence[Piece], tokens: int) -> dict[str, int]:
    """Spread the provider's count over the pieces, by their own."""
    total = sum(piece.tokens for piece in request) or 1
    return {piece.hash: round(tokens * piece.tokens / total) for piece in request}
