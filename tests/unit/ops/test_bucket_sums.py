"""Sums of a table and of its index: equal, or it shows in which bucket they differ."""

from dataclasses import replace

from functions.core.document import Document, content_hash
from functions.core.entry import StoredEntry
from functions.core.entry_shape import NO_BUCKET, BucketSum
from functions.core.identity import DocumentId, bucket_of, check_of, entry_id, version_bits
from functions.core.ledger_row import Status
from functions.core.verification import Pair, Sighting
from ops.bucket_sums import Sums
from tests.builders import make_row, make_source, make_target

PAIR = Pair(make_source(skip_attribute="hidden"), make_target())
NAME = DocumentId("a")
ITEM = {"id": "a", "body": "hello"}
HASH = content_hash(Document("hello", "document"), PAIR.target)
SEEN = Sighting(NAME, ITEM, StoredEntry(7, False, HASH, model=PAIR.target.model))


def sums_of(*seen: Sighting) -> tuple[Sums, dict[int, BucketSum]]:
    """Return the sums of a table, and those of an index that agrees with it."""
    sums, index = Sums(), dict[int, BucketSum]()
    for one in seen:
        sums.add(one, PAIR)
        name = entry_id("articles", one.document_id)
        before = index.get(bucket_of(name), BucketSum())
        index[bucket_of(name)] = BucketSum(
            before.count + 1, before.check + check_of(name, HASH), before.versions + version_bits(7)
        )
    return sums, index


def test_equal_sums_are_equal_and_any_other_shows() -> None:
    """R45: number, content, vectors, version, and what has no bucket."""
    documents = [
        replace(
            SEEN, document_id=DocumentId(f"{n}"), row=make_row(status=Status.COMPLETED, version=7)
        )
        for n in range(500)
    ]
    sums, index = sums_of(*documents)
    assert (sums.documents, sums.unequal(index)) == (500, set())

    one = min(index)
    for change in ({"count": 9}, {"check": 1}, {"versions": 1}, {"without_vectors": 1}):
        assert sums.unequal({**index, one: replace(index[one], **change)}) == {one}
    assert sums.unequal({**index, NO_BUCKET: BucketSum(1)}) == {NO_BUCKET}
    del index[one]
    assert sums.unequal(index) == {one}


def test_version_that_the_ledger_does_not_say_is_not_compared() -> None:
    """R45: rows of completed documents expire."""
    sums, index = sums_of(SEEN)
    [(bucket, found)] = index.items()

    assert sums.unequal({bucket: replace(found, versions=12345)}) == set()


def test_item_that_asks_for_no_entry_is_not_counted() -> None:
    """R45: skipped, or invalid."""
    sums, index = sums_of()
    sums.add(Sighting(NAME, {**ITEM, "hidden": True}), PAIR)

    assert (sums.documents, sums.unequal(index)) == (0, set())
