"""What an item makes of its task: a tombstone, a failure, or chunks within the limits."""

import pytest

from functions.core.document import Document, Unusable, chunk_hash, content_hash
from functions.core.entry import Tombstone
from functions.core.failure import Failure, FailureKind
from functions.core.identity import DocumentId
from functions.embed.chunking import split
from functions.embed.ending import Failed
from functions.embed.job import Job, Prepared
from functions.embed.payment import Paid
from functions.embed.prepare import entry_bytes, parcels, split_document, tombstone
from tests.builders import NOW_MS, make_message, make_row, make_target, make_task

TARGET = make_target(chunk_tokens=60)
JOB = Job(make_message(), make_task(), make_row())
SKIPPED = Unusable("attribute hidden asks to skip it", type="note")
INVALID = Unusable("attribute body is a map", invalid=True)


@pytest.mark.parametrize(
    ("content", "digest", "reason"),
    [(None, None, None), (SKIPPED, content_hash(SKIPPED, TARGET), SKIPPED.reason)],
    ids=["gone", "skipped"],
)
def test_document_without_text_leaves_a_tombstone(
    content: Unusable | None, digest: str | None, reason: str | None
) -> None:
    """R07: with the hash of what was skipped, so that the same again is unchanged."""
    made = tombstone(JOB, content, TARGET, now_ms=NOW_MS + 5)

    assert made == Tombstone("articles", DocumentId("a"), NOW_MS, digest, reason, NOW_MS + 5)


def test_invalid_document_fails_with_its_hash() -> None:
    """R24: for good; the same item again is not tried."""
    made = tombstone(JOB, INVALID, TARGET, now_ms=NOW_MS)

    failure = Failure(FailureKind.INVALID_INPUT, INVALID.reason)
    assert made == Failed(failure, content_hash(INVALID, TARGET))


def test_document_is_split_with_its_hashes() -> None:
    """R06: each chunk has the hash by which its vector is found again."""
    document = Document("hello", "document")

    made = split_document(JOB, document, TARGET)

    assert made == Prepared(
        JOB,
        document,
        content_hash(document, TARGET),
        ("hello",),
        ("hello",),
        (chunk_hash("hello", TARGET),),
    )


def test_prefixes_are_embedded_with_every_chunk_and_not_shown() -> None:
    """R11 R16: a late chunk is found by its title; one that begins with it has it once."""
    target = TARGET.model_copy(update={"document_prefix": "passage: "})
    text = "The title\n\n" + "\n\n".join(f"Paragraph {n} of many words. " * 5 for n in range(9))
    document = Document(text, "document", chunk_prefix="The title\n\n")

    made = split_document(JOB, document, target)

    assert isinstance(made, Prepared)
    assert len(made.texts) > 4
    assert made.inputs == (
        f"passage: {made.texts[0]}",
        *(f"passage: The title\n\n{one}" for one in made.texts[1:]),
    )
    assert "".join(made.texts).count("The title") == 1
    assert made.hashes == tuple(chunk_hash(one, target) for one in made.inputs)
    assert all(len(split(one, max_tokens=60)) == 1 for one in made.inputs)


def test_another_prefix_makes_every_chunk_another_one() -> None:
    """R06 R16: a new title is embedded with all of the text, not only with what it stands in."""
    text = "\n\n".join(f"Paragraph {n} of many words. " * 5 for n in range(9))
    made = [
        split_document(JOB, Document(text, "document", chunk_prefix=f"{title}\n\n"), TARGET)
        for title in ("Old title", "New title")
    ]

    [old, new] = [one for one in made if isinstance(one, Prepared)]
    assert old.texts == new.texts
    assert old.content_hash != new.content_hash
    assert set(old.hashes).isdisjoint(new.hashes)


def test_text_of_signs_is_cut_by_its_bytes_with_its_prefix() -> None:
    """R16: with one byte a token, a chunk fits whatever the model's vocabulary is."""
    target = TARGET.model_copy(update={"max_bytes_per_token": 1, "document_prefix": "passage: "})
    document = Document("=" * 900, "document", chunk_prefix="== == ==\n")

    made = split_document(JOB, document, target)

    assert isinstance(made, Prepared)
    assert "".join(made.texts) == document.text
    assert max(len(one.encode()) for one in made.inputs) <= target.chunk_tokens


def test_prefix_takes_its_bytes_of_a_chunk() -> None:
    """R16: few tokens may be many bytes."""
    target = TARGET.model_copy(update={"max_bytes_per_token": 1, "chunk_tokens": 60})
    document = Document("=" * 900, "document", chunk_prefix="international organization\n")

    made = split_document(JOB, document, target)

    assert isinstance(made, Prepared)
    assert max(len(one.encode()) for one in made.inputs) == target.chunk_tokens


@pytest.mark.parametrize(("words", "kept"), [(19, 19), (20, 20), (21, 20), (30, 20)])
def test_prefix_of_up_to_half_a_chunk_is_whole(words: int, kept: int) -> None:
    """R11 R16: of 40 tokens, 20 are for the text."""
    target = TARGET.model_copy(update={"chunk_tokens": 40})
    document = Document("text " * 200, "document", chunk_prefix="word " * words + "\n")

    made = split_document(JOB, document, target)

    assert isinstance(made, Prepared)
    assert {one.count("word") for one in made.inputs} == {kept}


@pytest.mark.parametrize("chunk_tokens", [16, 60, 400])
def test_long_prefix_is_cut_to_half_a_chunk(chunk_tokens: int) -> None:
    """R11 R16: most of what is embedded is the text."""
    target = TARGET.model_copy(update={"chunk_tokens": chunk_tokens})
    document = Document("word " * 2000, "document", chunk_prefix="endless title " * 1000)

    made = split_document(JOB, document, target)

    assert isinstance(made, Prepared)
    for one in made.inputs:
        assert len(split(one, max_tokens=chunk_tokens)) == 1
        assert one.startswith("endless title endless title")


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (
            {"max_chunks": 2},
            "the text makes 4 chunks, target default allows 2 (max_chunks): shorten it, or raise"
            " the setting",
        ),
        (
            {"max_entry_mb": 1, "dimensions": 30_000},
            "the entry would have about 2 MB, target default allows 1 (max_entry_mb): shorten the"
            " text, or take larger chunks or fewer dimensions",
        ),
    ],
    ids=["chunks", "bytes"],
)
def test_document_above_a_limit_fails_before_it_is_paid(
    limits: dict[str, int], reason: str
) -> None:
    """R24: and its reason says which setting decides."""
    target = TARGET.model_copy(update=limits)
    document = Document("one two three four five six seven eight. " * 16, "document")

    made = split_document(JOB, document, target)

    failure = Failure(FailureKind.INVALID_INPUT, reason)
    assert made == Failed(failure, content_hash(document, target))


def test_size_of_an_entry_is_estimated_from_chunks_and_text() -> None:
    """R12: 13 bytes a number, 120 a chunk, and the text twice as UTF-8."""
    assert entry_bytes(2, Document("aé", "document"), 10) == 2 * (10 * 13 + 120) + 2 * 3


MB = 1_000_000


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([3], [[3]]),
        ([4, 4, 4, 4, 2], [[4, 4], [4, 4], [2]]),
        ([1, 9, 1], [[1], [9], [1]]),
    ],
    ids=["none", "one", "as many as fit", "too large alone"],
)
def test_parcels_fit_one_bulk_body(sizes: list[int], expected: list[list[int]]) -> None:
    """R12: of eight megabytes; one that is larger goes alone."""

    def paid(megabytes: int) -> Paid:
        rest = megabytes * MB - entry_bytes(2, Document("", "document"), 1)
        return Paid(
            Prepared(JOB, Document("x" * (rest // 2), "document"), "", *TWO_CHUNKS), {}, 0, ""
        )

    def size(one: Paid) -> int:
        return entry_bytes(2, one.prepared.document, 1) // MB

    found = parcels([paid(megabytes) for megabytes in sizes], dimensions=1)

    assert [[size(one) for one in parcel] for parcel in found] == expected


TWO_CHUNKS = (("", ""),) * 3


@pytest.mark.parametrize(
    ("dimensions", "characters", "megabytes"),
    [(76_900, 90, None), (76_899, 97, 2), (153_836, 6, 2)],
    ids=["exactly the limit", "a byte more", "twice as much"],
)
def test_entry_is_measured_to_the_byte(
    dimensions: int, characters: int, megabytes: int | None
) -> None:
    """R24: one megabyte is allowed."""
    target = TARGET.model_copy(update={"dimensions": dimensions, "max_entry_mb": 1})
    document = Document(("word " * characters)[:characters], "document")

    made = split_document(JOB, document, target)

    if megabytes is None:
        assert isinstance(made, Prepared)
    else:
        assert isinstance(made, Failed)
        assert f"about {megabytes} MB," in made.failure.message
