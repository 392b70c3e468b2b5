"""Stories of the largest documents, on the in-memory engines."""

import pytest

from functions.core.ledger_row import Status
from tests.builders import make_pipeline
from tests.fake_embedder import FakeEmbedder
from tests.flow.stories import PARAGRAPHS, row, texts, write


@pytest.mark.parametrize(
    "text",
    [
        "нет войне " * 21_000,
        "漢字かな交じり文。" * 14_000,
        "👩‍👩‍👧 " * 20_000,
        "\x01\x02 " * 130_000,
        "x" * 390_000,
    ],
    ids=["cyrillic", "cjk", "emoji", "control", "one word"],
)
def test_largest_item_of_any_script_is_indexed(text: str) -> None:
    """R11: some 390 KB, split over requests, one entry."""
    pipeline = make_pipeline()
    write(pipeline, "a", text)

    pipeline.drain()

    done = row(pipeline, "a")
    assert (done.status, done.indexed.chunks_failed) == (Status.COMPLETED, 0)
    assert done.indexed.chunks_done == done.indexed.chunks_total > 100


def test_document_with_too_many_chunks_fails_with_its_reason(embedder: FakeEmbedder) -> None:
    """R11 R24: the configured ceiling is a permanent failure, before anything is paid."""
    pipeline = make_pipeline(
        target={"chunk_tokens": 60, "max_chunks": 3}, embedders={"default": embedder}
    )
    write(pipeline, "a", "\n\n".join(PARAGRAPHS))

    pipeline.drain()

    failed = row(pipeline, "a")
    assert failed.status is Status.FAILED
    assert "chunks, target default allows 3 (max_chunks)" in (failed.outcome.reason or "")
    assert embedder.requests == []


def test_entry_too_large_for_the_index_is_refused_before_it_is_paid(
    embedder: FakeEmbedder,
) -> None:
    """R11 R24: OpenSearch would refuse the body, every time."""
    pipeline = make_pipeline(
        target={"chunk_tokens": 60, "max_chunks": 5000, "max_entry_mb": 1},
        embedders={"default": embedder},
    )
    write(pipeline, "a", "\n\n".join(PARAGRAPHS * 200))

    pipeline.drain()

    failed = row(pipeline, "a")
    assert failed.status is Status.FAILED
    assert "(max_entry_mb): shorten the text" in (failed.outcome.reason or "")
    assert embedder.requests == []


def test_small_documents_are_searchable_before_a_large_one_is_embedded() -> None:
    """R22 R35: of one batch; the size of a document decides how long it waits."""
    indexed: list[int] = []
    embedder = FakeEmbedder()
    pipeline = make_pipeline(embedders={"default": embedder})
    embedder.meanwhile = lambda: indexed.append(len(texts(pipeline)))
    for n in range(2):
        write(pipeline, f"large {n}", f"large {n} " * 20_000)
    for n in range(8):
        write(pipeline, f"small {n}", f"small {n}")
    pipeline.deliver_new()

    pipeline.run("default/normal")

    requests = [request[0].split(" ", 1)[0] for request in embedder.requests]
    assert (requests[0], set(requests[1:])) == ("small", {"large"})
    assert (indexed[0], indexed[1], len(texts(pipeline))) == (0, 8, 10)
