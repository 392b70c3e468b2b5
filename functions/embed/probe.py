"""One small try at the provider and the index, past their breakers: may the work go on?"""

from collections.abc import Callable, Iterable

from functions.core.entry import Tombstone
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.identity import DocumentId
from functions.core.ports import HARMLESS, Clock, Embedder, VectorIndex

TIMEOUT_SECONDS = 20.0
# Under a name that no source has, and deleted from the start: no search finds it.
SOURCE, DOCUMENT = "embedq", DocumentId("probe")


def probe(
    parts: Iterable[str], *, embedder: Embedder, index: VectorIndex, clock: Clock
) -> dict[str, str | None]:
    """Try each part once; return why it failed, or None."""
    tries: dict[Part, Callable[[], Failure | None]] = {
        Part.PROVIDER: lambda: _embed(embedder),
        Part.INDEX: lambda: _write(index, clock()),
    }
    return {part: _failure_of(tries[Part(part)]) for part in parts}


def _failure_of(attempt: Callable[[], Failure | None]) -> str | None:
    try:
        failure = attempt()
    except FailureError as error:
        failure = error.failure
    except Exception as error:  # noqa: BLE001
        # The other part is tried all the same.
        return f"unexpected {type(error).__name__}: {error}"
    # Throttling is an answer, and the cooldown knows what to do with it.
    if failure is None or failure.kind is FailureKind.THROTTLED:
        return None
    return f"{failure.kind}: {failure.message}"


def _embed(embedder: Embedder) -> Failure | None:
    [result] = embedder.embed([HARMLESS], timeout_seconds=TIMEOUT_SECONDS).results
    return result if isinstance(result, Failure) else None


def _write(index: VectorIndex, now_ms: int) -> Failure | None:
    stone = Tombstone(SOURCE, DOCUMENT, now_ms, None, "a probe", now_ms)
    [result] = index.write([stone], searchable_now=False).values()
    return result if isinstance(result, Failure) else None
