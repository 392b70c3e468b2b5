"""The fake provider of the tests: hashed vectors, and failures on demand."""

from collections.abc import Callable, Sequence

from functions.core.failure import Failure, FailureError, FailureKind, RefusedRequestError
from functions.core.ports import Embedded
from local.memory.index import HashedEmbedder

REFUSED = Failure(FailureKind.INVALID_INPUT, "400")


def error_of(failure: Failure) -> FailureError:
    """Return the error that the adapter raises for a failure."""
    is_refused = failure.kind is FailureKind.INVALID_INPUT
    return RefusedRequestError(failure) if is_refused else FailureError(failure)


class FakeEmbedder(HashedEmbedder):
    """Fails as its fields say; `requests` holds only what it was paid for."""

    def __init__(
        self,
        dimensions: int = 16,
        *,
        failures: Sequence[Failure | None] = (),
        always: Exception | None = None,
        spares: str = "",
    ) -> None:
        super().__init__(dimensions)
        self.failures = list(failures)  # of the next requests, in order
        self.always = always  # the error of every request
        self.by_word: dict[str, BaseException] = {"poison": error_of(REFUSED)}
        self.meanwhile: Callable[[], None] = lambda: None
        self.asked = 0
        self.timeout_seconds = 0.0
        self._spares = spares  # the one text that always gets its vector

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        self.asked += 1
        self.timeout_seconds = timeout_seconds
        if list(texts) != [self._spares]:
            self.meanwhile()
            self._fail(texts)
        return super().embed(texts, timeout_seconds=timeout_seconds)

    def _fail(self, texts: Sequence[str]) -> None:
        if self.always is not None:
            raise self.always
        for text in texts:
            for word, error in self.by_word.items():
                if word in text:
                    raise error
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise error_of(failure)
