"""What the flow tests share: writes, and looks at the outcome."""

from functions.core.entry import Entry
from functions.core.ledger_row import LedgerRow
from local.memory.pipeline import MemoryPipeline
from tests.fake_embedder import FakeEmbedder

PARAGRAPHS = [f"Paragraph {n} tells about subject {n * 31}. " * 6 for n in range(12)]


def write(pipeline: MemoryPipeline, name: str, body: str | bytes, **rest: object) -> None:
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


def paid_texts(embedder: FakeEmbedder) -> list[str]:
    return [text for request in embedder.requests for text in request]
