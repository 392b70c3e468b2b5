"""Pieces -> vectors. A request that is refused is halved until the rejected chunk stands alone.

No document is judged before the provider has answered for another text in the same run.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from functions.core.entry import Vector
from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    Part,
    RefusedRequestError,
    TooLargeRequestError,
)
from functions.core.ports import HARMLESS, Embedder
from functions.embed.ending import NO_TIME
from functions.embed.packing import Piece, by_document, halves, pack
from functions.embed.run_time import RunTime

REFUSALS = (RefusedRequestError, TooLargeRequestError)
# So many chunks of a document failed, and none passed: the whole document is rejected.
REJECTED_CHUNKS = 3


@dataclass(frozen=True)
class Buying:
    """How large the requests of a load may be."""

    max_tokens: int
    is_failing: bool = False  # many requests fail: smaller ones lose less


@dataclass(frozen=True)
class Outcome:
    """One request and its result; without pieces if it was halved or only tested the provider."""

    pieces: Sequence[Piece] = ()
    results: Sequence["Vector | Failure"] = ()
    tokens: int = 0
    requests: int = 1
    failure: Failure | None = None
    error: Exception | None = None
    is_sent: bool = True  # False: given up with the one before it

    @property
    def has_passed(self) -> bool:
        return any(not isinstance(result, Failure) for result in self.results)

    @property
    def is_in_question(self) -> bool:
        """Tell whether it may have failed for what is in it."""
        is_refused = isinstance(self.error, REFUSALS)
        return self.has_failed_alone or is_refused or self.may_be_the_last_of_others

    @property
    def rejected(self) -> set[str]:
        """Name the pieces that were refused for their content: all, or some beside the others."""
        if self.failure is not None and not isinstance(self.error, RefusedRequestError):
            return set()
        return {
            piece.hash
            for piece, result in self.of_pieces()
            if isinstance(result, Failure) and result.kind.is_permanent
        }

    def without(self, names: Collection[str]) -> "Outcome":
        """Leave out pieces that are asked for once more."""
        kept = [one for one in self.of_pieces() if one[0].hash not in names]
        if not kept:
            return Outcome(requests=self.requests)
        pieces, results = zip(*kept, strict=True)
        return replace(self, pieces=pieces, results=results)

    @property
    def has_failed_alone(self) -> bool:
        """Tell whether the provider failed for a document that had failed with others before."""
        if not self.pieces or not self.pieces[0].past.is_isolated or self.has_passed:
            return False
        return self.failure is None or self.failure.kind.traits.breaker is Part.PROVIDER

    @property
    def has_hung_alone(self) -> bool:
        is_timeout = self.failure is not None and self.failure.kind is FailureKind.TIMEOUT
        return is_timeout and self.has_failed_alone

    @property
    def may_be_the_last_of_others(self) -> bool:
        """Tell whether documents may be given up for what another one of the request has caused."""
        if self.failure is None or not self.failure.kind.is_retryable:
            return False
        is_shared = len({piece.document for piece in self.pieces}) > 1
        return is_shared and any(piece.past.is_last for piece in self.pieces)

    def parts(self) -> Sequence[list[Piece]]:
        """Return smaller requests for the same pieces."""
        # What failed without a word may have been billed: no document is in a third request.
        split = by_document if self.may_be_the_last_of_others else halves
        return split(self.pieces)

    def of_pieces(self) -> Iterator[tuple[Piece, "Vector | Failure"]]:
        """Yield each piece with its vector or its failure."""
        if self.failure is not None:
            yield from ((piece, self.failure) for piece in self.pieces)
        else:
            yield from zip(self.pieces, self.results, strict=True)


@dataclass(frozen=True)
class Vectors:
    """What was paid and what failed, by piece hash; a piece in neither was never asked for."""

    paid: Mapping[str, Vector]
    failed: Mapping[str, Failure]
    tokens: Mapping[str, int]
    requests: int
    unexpected: Sequence[Exception]
    cause: Failure | None = None  # why all was refused, if the documents are not the cause
    judged: int = 0  # requests that failed, while the provider answered for another text


def vectorize(
    pieces: Sequence[Piece], embedder: Embedder, buying: Buying, time: RunTime
) -> Vectors:
    """Pay for every piece once."""
    share = 2 if buying.is_failing else 1
    requests = pack(
        pieces,
        max_tokens=buying.max_tokens // share,
        max_inputs=max(embedder.limits.inputs_per_request // share, 1),
    )
    purchase = _Purchase(embedder, time)
    purchase.buy(requests[::-1])
    bought = _folded(purchase.outcomes)
    failed = {name: purchase.of_whole(name, failure) for name, failure in bought.failed.items()}
    failed |= purchase.of_unasked(pieces, bought)
    return replace(bought, failed=failed, cause=purchase.cause, judged=purchase.judged)


@dataclass
class _Purchase:
    """The requests of one load, one after the other."""

    embedder: Embedder
    time: RunTime
    outcomes: list[Outcome] = field(default_factory=list)
    cause: Failure | None = None
    has_passed: bool = False
    judged: int = 0
    rejected: set[str] = field(default_factory=set)  # hashes of pieces
    judged_for: dict[str, Failure] = field(default_factory=dict)  # by piece hash
    split: set[str] = field(default_factory=set)  # hashes of pieces that were asked for together

    def buy(self, waiting: list[list[Piece]]) -> None:
        """Send the requests, the last of the list first, while there is time."""
        while waiting:
            request = waiting.pop()
            outcome = self._ask(request, has_more=_has_more(request, waiting))
            if outcome.has_failed_alone and self.has_passed:
                self.judged += 1
                if outcome.failure is not None:
                    self.judged_for |= {one.hash: outcome.failure for one in outcome.pieces}
            rejected = outcome.rejected
            if self._can_halve(outcome):
                # What may take its whole timeout once more comes after all the others.
                place = 0 if outcome.has_hung_alone else len(waiting)
                waiting[place:place] = outcome.parts()[::-1]
                self.split |= {piece.hash for piece in outcome.pieces}
                outcome = Outcome()
            elif rejected and self.rejected.isdisjoint(rejected):
                # A fault of a moment condemns no text: it is asked for once more.
                waiting.append([piece for piece in outcome.pieces if piece.hash in rejected])
                outcome = outcome.without(rejected)
            self.rejected |= rejected
            self.outcomes.append(outcome)
            if outcome.failure is not None and self._is_over(outcome.failure, waiting):
                return

    def of_whole(self, name: str, failure: Failure) -> Failure:
        """Return the failure of a piece; one that was only asked for as a part has that of all.

        A provider that wants to be left alone after each failure would have it tried for ever.
        """
        if failure.is_asked or name not in self.split:
            return failure
        return self.judged_for.get(name) or replace(failure, is_asked=True)

    def of_unasked(self, pieces: Sequence[Piece], bought: Vectors) -> dict[str, Failure]:
        """Return the failures of documents for whose parts no time was left.

        A document that lets all of them wait would be tried for nothing again and again, at its
        whole price. One that has got some of its vectors comes to its end.
        """
        has_some = {piece.document for piece in pieces if piece.hash in bought.paid}
        unasked = self.judged_for.keys() - bought.failed.keys()
        return {
            piece.hash: self.judged_for[piece.hash]
            for piece in pieces
            if piece.hash in unasked and piece.document not in has_some
        }

    def _ask(self, request: Sequence[Piece], *, has_more: bool) -> Outcome:
        """Send a request; before one is judged by its failure, a harmless text must have passed."""
        if request[0].past.is_isolated and (doubt := self._doubt()):
            return _unanswered(Outcome(request, is_sent=False), doubt)
        outcome = self._send(request, has_more=has_more)
        if outcome.is_in_question and (doubt := self._doubt()):
            return _unanswered(outcome, doubt)
        return _judged(outcome)

    def _send(self, request: Sequence[Piece], *, has_more: bool = False) -> Outcome:
        tokens = sum(piece.tokens for piece in request)
        patience = max(piece.past.timeouts for piece in request)
        timeout = self.time.timeout_seconds(tokens, patience, has_more=has_more)
        if self.time.is_too_short(timeout):
            return Outcome(failure=NO_TIME, is_sent=False)
        try:
            answer = self.embedder.embed([piece.text for piece in request], timeout_seconds=timeout)
        except FailureError as error:
            return Outcome(request, failure=error.failure, error=error)
        except Exception as error:  # noqa: BLE001
            # What the other requests have paid must not be lost with this one.
            message = f"unexpected {type(error).__name__}, see the log"
            return Outcome(request, failure=Failure(FailureKind.UNKNOWN, message), error=error)
        outcome = Outcome(request, answer.results, answer.tokens, answer.requests)
        self.has_passed |= outcome.has_passed
        return outcome

    def _doubt(self) -> Failure | None:
        """Return why no document can be judged: even a harmless text gets no vector."""
        if self.has_passed:
            return None
        tested = self._send([Piece(HARMLESS, HARMLESS, 1, 0)])
        self.outcomes.append(Outcome(error=tested.error, is_sent=tested.is_sent))
        doubt = tested.failure or next((f for f in tested.results if isinstance(f, Failure)), None)
        if doubt is not None and isinstance(tested.error, REFUSALS):
            message = f"the provider refuses even a harmless text: {doubt.message}"
            doubt = Failure(FailureKind.CONFIGURATION, message)
        self.cause = None if doubt is NO_TIME else doubt
        return doubt

    def _is_over(self, failure: Failure, waiting: Sequence[Sequence[Piece]]) -> bool:
        """Tell whether to send nothing more; what was not sent fails only if its lane stops."""
        if failure.kind.traits.stops_lane:
            stopped = [piece for request in waiting for piece in request]
            waits = replace(failure, is_asked=False)
            self.outcomes.append(Outcome(stopped, failure=waits, is_sent=False))
            return True
        is_down = failure is self.cause and failure.kind.traits.breaker is Part.PROVIDER
        return is_down or failure is NO_TIME

    def _can_halve(self, outcome: Outcome) -> bool:
        documents = {piece.document for piece in outcome.pieces}
        is_judged = outcome.is_in_question and outcome.failure not in (None, self.cause)
        if not is_judged or len(outcome.pieces) == 1:
            return False
        if isinstance(outcome.error, TooLargeRequestError) or len(documents) > 1:
            return True
        # What another document has, too, is not rejected with this one.
        if any(piece.is_shared for piece in outcome.pieces):
            return True
        # Some of its chunks may pass: these are searchable then.
        return not self._is_rejected(documents.pop())

    def _is_rejected(self, document: int) -> bool:
        """Tell whether to stop halving: the whole document is rejected."""
        asked = [one for one in self.outcomes for piece in one.pieces if piece.document == document]
        failed = sum(one.failure is not None for one in asked)
        return failed >= REJECTED_CHUNKS and not any(one.has_passed for one in asked)


def _has_more(request: Sequence[Piece], waiting: Sequence[Sequence[Piece]]) -> bool:
    """Tell whether an isolated document has chunks that may pass if this request hangs."""
    first = request[0]
    if not first.past.is_isolated:
        return False
    return len(request) > 1 or any(one[0].document == first.document for one in waiting)


def _unanswered(outcome: Outcome, doubt: Failure) -> Outcome:
    """Let a request fail with what a harmless text fails with; without time nothing is known."""
    pieces = () if doubt is NO_TIME else outcome.pieces
    if outcome.is_sent and not doubt.is_asked:
        doubt = replace(doubt, is_asked=True)
    return replace(outcome, pieces=pieces, failure=doubt, error=None)


def _judged(outcome: Outcome) -> Outcome:
    """Let a text that is throttled while another has passed spend its attempts."""
    failure = outcome.failure
    # What only waited for others is not throttled itself.
    if failure is None or failure.kind is not FailureKind.THROTTLED or not failure.is_asked:
        return outcome
    if len(outcome.pieces) > 1 or not outcome.pieces[0].past.is_throttled_often:
        return outcome
    message = f"the provider throttles this text, but takes another one: {failure.message}"
    return replace(outcome, failure=Failure(FailureKind.PROVIDER_ERROR, message))


def _folded(outcomes: Sequence[Outcome]) -> Vectors:
    results = {piece.hash: result for one in outcomes for piece, result in one.of_pieces()}
    return Vectors(
        paid={name: one for name, one in results.items() if not isinstance(one, Failure)},
        failed={name: one for name, one in results.items() if isinstance(one, Failure)},
        tokens={name: count for one in outcomes if one.results for name, count in _share(one)},
        requests=sum(one.requests for one in outcomes if one.is_sent),
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
