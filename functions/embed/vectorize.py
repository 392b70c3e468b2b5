"""Pieces -> vectors. A refused request is halved until the rejected chunk stands alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

# Text that no filter rejects: tells bad input from bad configuration.
HARMLESS = "probe"
# So many chunks of a document refused, and none accepted: the whole document is rejected.
REFUSED_CHUNKS = 3


@dataclass(frozen=True)
class Buying:
    """How to pay: the size of a request, and how long to wait for its answer."""

    max_tokens: int
    patience: int = 0  # the most timeouts that one of these documents has had
    is_failing: bool = False  # many requests fail: smaller ones lose less


@dataclass(frozen=True)
class Outcome:
    """One request and its result; without pieces if it was halved or only tested the provider."""

    pieces: Sequence[Piece] = ()
    vectors: Sequence["Vector"] = ()
    tokens: int = 0
    failure: Failure | None = None
    error: Exception | None = None
    is_sent: bool = True  # False: given up with the one before it

    @property
    def is_refused(self) -> bool:
        return self.failure is not None and self.failure.kind is FailureKind.INVALID_INPUT


@dataclass(frozen=True)
class Vectors:
    """What was paid and what failed, by piece hash; a piece in neither was never asked for."""

    paid: Mapping[str, "Vector"]
    failed: Mapping[str, Failure]
    tokens: Mapping[str, int]
    requests: int
    unexpected: Sequence[Exception]
    cause: Failure | None = None  # why all was refused, if the documents are not the cause


def vectorize(
    pieces: Sequence[Piece], embedder: Embedder, buying: Buying, time: RunTime
) -> Vectors:
    """Pay for every piece once."""
    share = 2 if buying.is_failing else 1
    waiting = pack(
        pieces,
        max_tokens=buying.max_tokens // share,
        max_inputs=embedder.limits.inputs_per_request // share,
    )[::-1]
    outcomes: list[Outcome] = []
    while waiting and not time.is_too_short(timeout := time.timeout_seconds(buying.patience)):
        outcome = _send(waiting.pop(), embedder, timeout)
        if _can_halve(outcome, outcomes):
            waiting += halves(outcome.pieces)[::-1]
            outcome = Outcome()
        outcomes.append(outcome)
        if outcome.failure is not None and outcome.failure.kind.traits.stops_lane:
            stopped = [piece for request in waiting for piece in request]
            outcomes.append(Outcome(stopped, failure=outcome.failure, is_sent=False))
            break
    is_all_refused = any(one.is_refused for one in outcomes) and not any(
        one.vectors for one in outcomes
    )
    return _explained(outcomes, embedder, time) if is_all_refused else _folded(outcomes)


def _send(request: Sequence[Piece], embedder: Embedder, timeout_seconds: float) -> Outcome:
    try:
        answer = embedder.embed([piece.text for piece in request], timeout_seconds=timeout_seconds)
    except FailureError as error:
        return Outcome(request, failure=error.failure, error=error)
    except Exception as error:  # noqa: BLE001
        # What the other requests have paid must not be lost with this one.
        failure = Failure(FailureKind.UNKNOWN, f"unexpected {type(error).__name__}, see the log")
        return Outcome(request, failure=failure, error=error)
    return Outcome(request, answer.vectors, answer.tokens)


def _can_halve(outcome: Outcome, before: Sequence[Outcome]) -> bool:
    if len(outcome.pieces) == 1:
        return False
    documents = {piece.document for piece in outcome.pieces}
    if isinstance(outcome.error, RefusedRequestError) and len(documents) == 1:
        # Some of its chunks may be accepted: these are searchable then.
        return not _is_rejected(documents.pop(), before)
    return isinstance(outcome.error, RefusedRequestError | TooLargeRequestError)


def _is_rejected(document: int, outcomes: Sequence[Outcome]) -> bool:
    """Tell whether to stop halving: the whole document is rejected."""
    mine = [(one, piece) for one in outcomes for piece in one.pieces if piece.document == document]
    refused = sum(one.is_refused for one, _ in mine)
    return refused >= REFUSED_CHUNKS and not any(one.vectors for one, _ in mine)


def _explained(outcomes: Sequence[Outcome], embedder: Embedder, time: RunTime) -> Vectors:
    """Ask for a harmless text where all was refused: a wrong setting refuses that, too."""
    timeout = time.timeout_seconds(0)
    if time.is_too_short(timeout):
        return _folded(outcomes)
    tested = _send([Piece(HARMLESS, HARMLESS, 1, 0)], embedder, timeout)
    cause = tested.failure
    if cause is not None and isinstance(tested.error, RefusedRequestError):
        message = f"the provider refuses even a harmless text: {cause.message}"
        cause = Failure(FailureKind.CONFIGURATION, message)
    if cause is not None:
        # Unless it is refused, too, the cause is unknown for now: no document is given up.
        outcomes = [replace(one, failure=cause) if one.is_refused else one for one in outcomes]
    return replace(_folded([*outcomes, Outcome(error=tested.error)]), cause=cause)


def _folded(outcomes: Sequence[Outcome]) -> Vectors:
    return Vectors(
        paid={
            piece.hash: vector
            for one in outcomes
            if one.vectors
            for piece, vector in zip(one.pieces, one.vectors, strict=True)
        },
        failed={
            piece.hash: one.failure
            for one in outcomes
            if one.failure is not None
            for piece in one.pieces
        },
        tokens={name: count for one in outcomes if one.vectors for name, count in _share(one)},
        requests=sum(one.is_sent for one in outcomes),
        unexpected=[
            one.error
            for one in outcomes
            if one.error is not None and not isinstance(one.error, FailureError)
        ],
    )


def _share(outcome: Outcome) -> list[tuple[str, int]]:
    """Spread the provider's count over the pieces, by their own."""
    total = sum(piece.tokens for piece in outcome.pieces) or 1
    return [(p.hash, round(outcome.tokens * p.tokens / total)) for p in outcome.pieces]
