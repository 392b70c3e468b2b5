"""How an entry may differ from its item, as a table; slices, and keys of orphans."""

from dataclasses import replace
from typing import Any

import pytest

from functions.core.document import Document, content_hash
from functions.core.entry import StoredEntry
from functions.core.entry_shape import NO_BUCKET
from functions.core.identity import (
    BUCKETS,
    DocumentId,
    document_id,
    item_key,
)
from functions.core.ledger_row import Status
from functions.core.verification import (
    Kind,
    Pair,
    Sighting,
    buckets_of_slice,
    difference,
    is_known,
)
from tests.builders import make_row, make_source, make_target

PAIR = Pair(make_source(skip_attribute="hidden"), make_target())
NAME = DocumentId("a")
ITEM = {"id": "a", "body": "hello"}
HASH = content_hash(Document("hello", "document"), PAIR.target)
ENTRY = StoredEntry(7, False, HASH, model=PAIR.target.model)
SEEN = Sighting(NAME, ITEM, ENTRY)


def completed(version: int) -> Any:
    return make_row(status=Status.COMPLETED, version=version)


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (SEEN, None),
        (replace(SEEN, row=completed(7)), None),
        (replace(SEEN, entry=None), Kind.MISSING),
        (replace(SEEN, entry=replace(ENTRY, deleted=True)), Kind.MISSING),
        (replace(SEEN, entry=replace(ENTRY, content_hash="x")), Kind.STALE),
        (replace(SEEN, entry=replace(ENTRY, content_hash="x", model="")), Kind.STALE),
        (replace(SEEN, entry=replace(ENTRY, content_hash="x", model="m")), Kind.WRONG_MODEL),
        (replace(SEEN, has_vectors=False), Kind.WITHOUT_VECTORS),
        (replace(SEEN, row=completed(8)), Kind.WRONG_VERSION),
        (replace(SEEN, row=make_row(status=Status.PENDING, version=8)), None),
        (replace(SEEN, item=None), Kind.ORPHANED),
        (replace(SEEN, item={**ITEM, "hidden": True}), Kind.ORPHANED),
        (Sighting(NAME, None), None),
        (Sighting(NAME, {**ITEM, "hidden": True}), None),
        (Sighting(NAME, {"id": "a", "body": b"x"}), None),
        (Sighting(NAME, None, replace(ENTRY, deleted=True)), None),
    ],
)
def test_every_kind_of_difference_has_its_name(seen: Sighting, kind: Kind | None) -> None:
    """R45: from item, entry and, as a witness, the row."""
    assert difference(seen, PAIR) is kind


@pytest.mark.parametrize("status", Status)
def test_ledger_knows_what_is_on_its_way_or_has_failed(status: Status) -> None:
    """R45 R56: such a document is no drift."""
    known = status.is_open or status.is_failed

    assert is_known(make_row(status=status)) is known
    assert not is_known(None)


@pytest.mark.parametrize("slices", [24, 168, 5000])
def test_slices_share_the_buckets_among_them(slices: int) -> None:
    """R56: each bucket belongs to one slice, as does what has none."""
    found = [bucket for number in range(slices) for bucket in buckets_of_slice(number, slices)]

    assert sorted(found) == [NO_BUCKET, *range(BUCKETS)]
    assert NO_BUCKET in buckets_of_slice(0, slices)


@pytest.mark.parametrize(
    "key",
    [
        {"id": {"S": "a|b%7C"}},
        {"id": {"N": "12"}, "at": {"S": "x|y%25%7Cz"}},
        {"id": {"B": "AAE="}, "at": {"N": "-1.5"}},
    ],
)
def test_key_is_read_back_from_the_documents_id(key: dict[str, dict[str, str]]) -> None:
    """R45: an entry names its document, and an orphan's item is asked for by its key."""
    types = {name: next(iter(value)) for name, value in key.items()}

    assert item_key(document_id(key, tuple(key)), types) == key
