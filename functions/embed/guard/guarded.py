"""The provider and the index behind the guard: the steps see the ports that they know."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from functions.core.entry import Entry, StoredEntry, Tombstone, WriteResult
from functions.core.failure import (
    Failure,
    FailureError,
    FailureKind,
    MissingIndexError,
    Part,
    TooLargeRequestError,
)
from functions.core.identity import EntryId
from functions.core.ports import Embedded, Embedder, ProviderLimits, VectorIndex
from functions.embed.guard.guard import Guard

THROTTLES_BEFORE_HALVING = 3


class GuardedEmbedder:
    """An embedder that asks only when it may, and waits where it is throttled."""

    def __init__(self, embedder: Embedder, guard: Guard) -> None:
        self._embedder = embedder
        self._guard = guard

    @property
    def limits(self) -> ProviderLimits:
        """Return what one request may hold, by the adapter and the provider's last headers."""
        return self._guard.limits(self._embedder.limits)

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        """Return a vector or a failure per text, or raise the failure of the whole request."""
        tokens = sum(len(text.encode()) for text in texts) // self.limits.bytes_per_token
        throttled: list[Failure] = []
        while True:
            timeout = self._enter(tokens, timeout_seconds, throttled)
            reserved = self._guard.spending.reserve(texts)
            try:
                answer = self._embedder.embed(texts, timeout_seconds=timeout)
            except FailureError as error:
                self._guard.spending.failed(reserved, error.failure)
                if error.failure.kind is not FailureKind.THROTTLED:
                    self._guard.failed(Part.PROVIDER, error.failure)
                    raise
                self._guard.throttled(error.failure)
                throttled.append(error.failure)
                if len(texts) > 1 and len(throttled) == THROTTLES_BEFORE_HALVING:
                    # It may be above what the provider takes at once: then no waiting helps.
                    raise TooLargeRequestError(error.failure) from error
            else:
                self._guard.spending.answered(reserved, answer.tokens)
                self._guard.answered(answer)
                return answer

    def _enter(self, tokens: int, timeout_seconds: float, throttled: Sequence[Failure]) -> float:
        try:
            return self._guard.enter_provider(tokens, timeout_seconds)
        except FailureError as error:
            waits = error.failure
            if not throttled or waits.kind is not FailureKind.THROTTLED:
                raise
            # This request was asked, and not only others.
            raise FailureError(
                replace(waits, message=throttled[-1].message, is_asked=True)
            ) from error


class GuardedIndex:
    """An index that is left alone while its breaker is open.

    One that may be missing is another target's: that it is gone says nothing about this one.
    """

    def __init__(self, index: VectorIndex, guard: Guard, *, may_be_missing: bool = False) -> None:
        self._index = index
        self._guard = guard
        self._may_be_missing = may_be_missing

    def read(
        self, ids: Sequence[EntryId], *, hashes: Collection[str] = ()
    ) -> dict[EntryId, StoredEntry]:
        """Return the entries that exist, with the vectors of chunks that have these hashes."""
        with self._counted():
            found = self._index.read(ids, hashes=hashes)
        self._guard.tally.passed(Part.INDEX)
        return found

    def write(
        self, entries: Sequence[Entry | Tombstone], *, searchable_now: bool
    ) -> dict[EntryId, WriteResult]:
        """Write each entry under its external version."""
        with self._counted():
            results = self._index.write(entries, searchable_now=searchable_now)
        self._count(list(results.values()))
        return results

    def _count(self, results: Sequence[WriteResult]) -> None:
        """Count the entries, but once where all ended alike.

        A request that is answered too late is one failure of the index, however many entries it
        has: with ten of them it alone would stop every lane for minutes.
        """
        alike = set(results)
        for result in alike if len(alike) == 1 else results:
            if isinstance(result, Failure):
                self._guard.failed(Part.INDEX, result)
            else:
                self._guard.tally.passed(Part.INDEX)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._guard.enter_index()
        try:
            yield
        except FailureError as error:
            if not (self._may_be_missing and isinstance(error, MissingIndexError)):
                self._guard.failed(Part.INDEX, error.failure)
            raise
