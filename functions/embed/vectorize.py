"""Pieces -> vectors. A refused request is halved until the guilty document stands alone."""

from collections.abc import Callable, Sequence
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

if TYPE_CHECKING:
    from functions.core.entry import Vector

REQUEST_TIMEOUT_SECONDS = 30.0
# A request with less time than this would be paid and not heard.
SHORTEST_TIMEOUT_SECONDS = 5.0
# What stays for the index and the ledger after the last request of a run.
FINISH_SECONDS = 20.0
# So many documents refused, and none taken: it is not them.
REFUSED_DOCUMENTS = 3

SecondsLeft = Callable[[], float]

# None of these would go better for the next request of the same run.
STOPS_ALL = (FailureKind.THROTTLED, FailureKind.CONFIGURATION)


@dataclass
class Vectors:
    """What was paid, what failed, and what was never asked for, all by piece hash."""

    paid: dict[str, "Vector"] = field(default_factory=dict)
    failed: dict[str, Failure] = field(default_factory=dict)
    untouched: set[str] = field(default_factory=set)
    tokens: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    unexpected: list[Exception] = field(default_factory=list)


def vectorize(
    pieces: Sequence[Piece], embedder: Embedder, *, max_tokens: int, seconds_left: SecondsLeft
) -> Vectors:
    """Pay for every piece once."""
    result = Vectors()
    waiting = pack(pieces, max_tokens=max_tokens)[::-1]
    while waiting:
        request = waiting.pop()
        timeout = min(REQUEST_TIMEOUT_SECONDS, seconds_left() - FINISH_SECONDS)
        if timeout < SHORTEST_TIMEOUT_SECONDS:
            result.untouched.update(piece.hash for piece in request)
            continue
        failure = _buy(request, embedder, timeout, result, waiting)
        if failure is not None and failure.kind in STOPS_ALL:
            _fail(result, [piece for rest in waiting for piece in rest], failure)
            break
    _blame_the_settings(result, pieces)
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
        if _can_halve(request, error):
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
    result.paid.update(
        (piece.hash, vector) for piece, vector in zip(request, answer.vectors, strict=True)
    )
    result.tokens.update(_share(request, answer.tokens))
    return None


def _blame_the_settings(result: Vectors, pieces: Sequence[Piece]) -> None:
    """Charge no document when the provider refuses all of many: a wrong parameter does that."""
    refused = {p.document for p in pieces if _is_refused(result.failed.get(p.hash))}
    if len(refused) >= REFUSED_DOCUMENTS and not result.paid:
        for digest, failure in result.failed.items():
            if _is_refused(failure):
                result.failed[digest] = Failure(
                    FailureKind.CONFIGURATION,
                    f"the provider refused all {len(refused)} documents: {failure.message}",
                )


def _is_refused(failure: Failure | None) -> bool:
    return failure is not None and failure.kind is FailureKind.INVALID_INPUT


def _can_halve(request: Sequence[Piece], error: FailureError) -> bool:
    if isinstance(error, RefusedRequestError):
        return len({piece.document for piece in request}) > 1
    return isinstance(error, TooLargeRequestError) and len(request) > 1


def _fail(result: Vectors, request: Sequence[Piece], failure: Failure) -> None:
    result.failed.update((piece.hash, failure) for piece in request)


def _share(request: Sequence[Piece], tokens: int) -> dict[str, int]:
    """Spread the provider's count over the pieces, by their own."""
    total = sum(piece.tokens for piece in request) or 1
    return {piece.hash: round(tokens * piece.tokens / total) for piece in request}
