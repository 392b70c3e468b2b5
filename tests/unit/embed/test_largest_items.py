"""The largest item that DynamoDB takes, in every offered length of vectors: it fits, or a setting
that the reason names is in the way."""

from functools import cache

import numpy as np
import orjson
import pytest

from functions.adapters.openai_limits import MODEL_DIMENSIONS
from functions.core.document import Document
from functions.core.entry import Chunk, Entry
from functions.core.entry_shape import body
from functions.core.identity import DocumentId
from functions.embed import prepare
from functions.embed.chunking import split
from functions.embed.ending import Failed
from functions.embed.job import Job, Prepared
from functions.embed.prepare import split_document
from tests.builders import make_message, make_row, make_target, make_task

# It takes seconds for a text of this size, whatever the vectors.
split_once = cache(split)
ITEM_BYTES = 400 * 1024
# From the shortest to the longest that cdk.json takes.
DIMENSIONS = sorted({1, 256, 512, 1024, 16_000, *MODEL_DIMENSIONS.values()})
TEXTS = {
    "english": "The tortoise walked on without a rest, and the hare slept. ",
    "lines": "a line\n\n",
    "chinese": "龟不停地走，兔子却睡着了。",  # noqa: RUF001
    "emoji": "👩‍👩‍👧 ",
    "one word": "x",
    "quotes": '"\\',
    "control characters": "\x01\x02 ",
    "nearly nothing": " \n",
}
JOB = Job(make_message(), make_task(), make_row())


@pytest.fixture(autouse=True)
def _split_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "split", split_once)


def largest(name: str) -> str:
    """Return a text of 400 KB."""
    part = TEXTS[name]
    return "a" + part * ((ITEM_BYTES - 1) // len(part.encode()))


def written(made: Prepared, vector: np.ndarray) -> int:
    """Return the bytes of the entry as it is sent, with a vector for each chunk."""
    chunks = [
        Chunk(text, hash_, vector) for text, hash_ in zip(made.texts, made.hashes, strict=True)
    ]
    document = made.document
    entry = Entry(
        source="articles",
        document_id=DocumentId("a"),
        version=1,
        content_hash=made.content_hash,
        type=document.type,
        metadata=document.metadata,
        chunks=tuple(chunks),
        written_ms=1,
        model="text-embedding-3-small",
    )
    return len(orjson.dumps(body(entry), option=orjson.OPT_SERIALIZE_NUMPY))


def vector_of(dimensions: int) -> np.ndarray:
    """Return a vector of length one, as a provider does."""
    numbers = np.random.default_rng(dimensions).normal(size=dimensions)
    return (numbers / np.linalg.norm(numbers)).astype(np.float32)


@pytest.mark.parametrize("is_metadata", [False, True], ids=["text", "text and metadata"])
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("max_entry_mb", [1, 10])
def test_largest_item_fits_or_its_reason_names_a_setting(
    name: str, max_entry_mb: int, is_metadata: bool
) -> None:
    """R11 R24: what is embedded is never too large for the index: its vectors are paid by then."""
    text = largest(name)
    document = Document(text, "document", {"body": text} if is_metadata else {})

    for dimensions in DIMENSIONS:
        target = make_target(dimensions=dimensions, max_entry_mb=max_entry_mb, max_chunks=10_000)
        made = split_document(JOB, document, target)

        if isinstance(made, Failed):
            assert "(max_entry_mb)" in made.failure.message
        else:
            assert written(made, vector_of(dimensions)) <= max_entry_mb * 1_000_000


def test_largest_item_is_embedded_with_the_default_settings() -> None:
    """R11: up to 1,536 dimensions, as the README says; with 3,072 a setting is in the way."""
    document = Document(largest("english"), "document")

    made = split_document(JOB, document, make_target(dimensions=1536))
    refused = split_document(JOB, document, make_target(dimensions=3072))

    assert isinstance(made, Prepared)
    assert isinstance(refused, Failed)
    assert "(max_entry_mb)" in refused.failure.message
