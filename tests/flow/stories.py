"""What the stories are told with: a provider that fails as told, and looks at the outcome."""

from collections.abc import Sequence

from functions.core.entry import Entry
from functions.core.failure import Failure, FailureError, FailureKind, RefusedRequestError
from functions.core.ledger_row import LedgerRow
from functions.core.ports import Embedded
from local.memory.index import HashedEmbedder
from local.memory.pipeline import MemoryPipeline

PARAGRAPHS = [f"Paragraph {n} tells about subject {n * 31}. " * 6 for n in range(12)]


class TroubledEmbedder(HashedEmbedder):
    """Fails as it is told to, before it counts a request as paid."""

    def __init__(self, dimensions: int = 16) -> None:
        super().__init__(dimensions)
        self.failures: list[Failure] = []
        self.is_locked = False  # the key is wrong
        self.breaks_at = ""  # a text that no answer comes for
        self.asked = 0

    def embed(self, texts: Sequence[str], *, timeout_seconds: float) -> Embedded:
        self.asked += 1
        if self.is_locked:
            raise FailureError(Failure(FailureKind.CONFIGURATION, "401"))
        if self.breaks_at and any(self.breaks_at in text for text in texts):
            raise FailureError(Failure(FailureKind.UNKNOWN, "broken"))
        if any("poison" in text for text in texts):
            raise RefusedRequestError(Failure(FailureKind.INVALID_INPUT, "400"))
        if self.failures:
            raise FailureError(self.failures.pop(0))
        return super().embed(texts, timeout_seconds=timeout_seconds)


def write(pipeline: MemoryPipeline, name: str, body: str, **rest: object) -> None:
    pipeline.tables["articles"].put({"id": name, "body": body, **rest})


def row(pipeline: MemoryPipeline, name: str) -> LedgerRow:
    found = pipeline.row(name, source="articles")
    assert found is not None
    return found


def texts(pipeline: MemoryPipeline) -> dict[str, str]:
    return {
        entry.document_id: " ".join(chunk.text for chunk in entry.chunks)
        for entry in pipeline.indexes["default"].entries.values()
        if isinstance(entry, Entry)
    }


def paid_texts(embedder: HashedEmbedder) -> list[str]:
    return [text for request in embedder.requests for text in request]
