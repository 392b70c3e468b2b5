"""Which questions of the gate count: not those about documents that are on their way."""

import pytest

from functions.core.document import Document, content_hash
from functions.core.entry import StoredEntry
from functions.core.identity import DocumentId
from functions.core.ledger_row import LedgerRow, Status
from functions.core.verification import Pair, Sighting
from ops.migration_questions import Looks, State, counts, state_of
from ops.quality import Judgment
from tests.builders import make_row, make_source, make_target

PAIR = Pair(make_source(), make_target())
CURRENT, DIFFERENT, ON_ITS_WAY, CHANGED = State


def document(text: str) -> Document:
    return Document(text, "document")


def entry(text: str | None) -> StoredEntry | None:
    if text is None:
        return None
    return StoredEntry(
        version=1, deleted=False, content_hash=content_hash(document(text), PAIR.target)
    )


def row(status: Status | None) -> LedgerRow | None:
    return None if status is None else make_row(status=status)


@pytest.mark.parametrize("status", [None, *Status])
@pytest.mark.parametrize(
    ("table", "index", "expected"),
    [
        # The question was taken from "drawn".
        ("drawn", "drawn", CURRENT),
        ("drawn", "before", None),
        ("drawn", None, None),
        ("edited", "drawn", CHANGED),
        ("edited", "edited", CHANGED),
        ("", None, CHANGED),
        (None, None, CHANGED),
        (None, "drawn", CHANGED),
    ],
)
def test_document_is_on_its_way_only_while_its_row_is_open(
    table: str | None, index: str | None, expected: State | None, status: Status | None
) -> None:
    """R52: one that has failed, or was lost, is not; None is decided by the row."""
    item = None if table is None else {"id": "a", "body": table}
    seen = Sighting(DocumentId("a"), item, entry(index), row=row(status))
    is_open = status is not None and status.is_open

    found = state_of(seen, PAIR, document("drawn"))

    assert found is (expected or (ON_ITS_WAY if is_open else DIFFERENT))


def test_entry_without_vectors_is_not_what_the_table_asks_for() -> None:
    """R52: no search by meaning finds it."""
    seen = Sighting(
        DocumentId("a"), {"id": "a", "body": "drawn"}, entry("drawn"), has_vectors=False
    )

    assert state_of(seen, PAIR, document("drawn")) is DIFFERENT


@pytest.mark.parametrize(
    ("states", "counting"),
    [
        ([CURRENT], True),
        ([CURRENT, CURRENT], True),
        # Failed or lost, and still so.
        ([DIFFERENT, DIFFERENT], True),
        ([DIFFERENT, DIFFERENT, DIFFERENT], True),
        # It had not reached the ledger at the first look.
        ([DIFFERENT, ON_ITS_WAY], False),
        ([DIFFERENT, CURRENT], False),
        ([DIFFERENT, DIFFERENT, ON_ITS_WAY], False),
        ([ON_ITS_WAY], False),
        ([ON_ITS_WAY, CURRENT], False),
        ([CHANGED], False),
        ([CURRENT, CHANGED], False),
        ([CURRENT, ON_ITS_WAY], False),
        ([CURRENT, DIFFERENT], False),
    ],
)
def test_document_counts_if_all_looks_saw_the_same(states: list[State], counting: bool) -> None:
    """R52: as it should be, or never."""
    assert counts(states) is counting


def test_question_counts_if_its_documents_do_in_both_targets() -> None:
    """R52: a sentence that stands in two documents finds either; what the old index lacks is no
    merit of the new one."""
    looks = Looks("old")
    for name, in_old, in_new in [
        ("a", CURRENT, CURRENT),
        ("b", CURRENT, ON_ITS_WAY),
        ("c", DIFFERENT, CURRENT),
        ("d", CURRENT, DIFFERENT),
        ("e", CHANGED, CHANGED),
        ("f", DIFFERENT, DIFFERENT),
    ]:
        looks.add("old", name, in_old)
        looks.add("new", name, in_new)
    several = ("a", "b", "c", "d", "e", "f", "ab", "ac", "ad", "ce")
    asked = [Judgment(names, "?", dict.fromkeys(names, 1)) for names in several]

    assert [one.id for one in looks.counting(asked)] == ["a", "d", "ad"]
    assert [one.id for one in looks.different(looks.counting(asked))] == ["d", "ad"]
    assert looks.left_out(asked) == {ON_ITS_WAY: 2, DIFFERENT: 3, CHANGED: 2}
