"""Whether the last write of a document can be found by a search."""

from dataclasses import replace

import pytest

from functions.core.document import Document, Unusable, content_hash
from functions.core.entry import StoredEntry
from functions.core.ledger_row import LedgerRow, Status
from ops.waiting import State, Wanted, judge
from tests.builders import make_row, make_target

DOCUMENT = Document("hello", "document")
ENTRY = StoredEntry(
    version=1, deleted=False, content_hash=content_hash(DOCUMENT, make_target()), vectors={}
)
OLD = replace(ENTRY, content_hash="other")
TOMBSTONE = replace(ENTRY, deleted=True)
GIVEN_UP = make_row(status=Status.FAILED)
HEALING = make_row(status=Status.FAILED, next_attempt_ms=1)


@pytest.mark.parametrize(
    ("wanted", "entry", "row", "state"),
    [
        (DOCUMENT, ENTRY, None, State.CURRENT),
        (DOCUMENT, ENTRY, GIVEN_UP, State.CURRENT),
        (DOCUMENT, OLD, make_row(), State.BEHIND),
        (DOCUMENT, OLD, GIVEN_UP, State.FAILED),
        (DOCUMENT, OLD, HEALING, State.BEHIND),
        (DOCUMENT, None, None, State.BEHIND),
        (DOCUMENT, TOMBSTONE, make_row(), State.BEHIND),
        (None, TOMBSTONE, make_row(), State.CURRENT),
        (None, None, None, State.CURRENT),
        (None, ENTRY, make_row(), State.BEHIND),
        (Unusable("skip"), ENTRY, make_row(), State.BEHIND),
        (Unusable("skip"), TOMBSTONE, make_row(), State.CURRENT),
        (Unusable("a map", invalid=True), None, make_row(), State.BEHIND),
        (Unusable("a map", invalid=True), OLD, GIVEN_UP, State.FAILED),
    ],
)
def test_what_a_search_finds_is_compared_with_the_table(
    wanted: Wanted, entry: StoredEntry | None, row: LedgerRow | None, state: State
) -> None:
    """R40 R51: by the content, whatever its version; given up only where waiting is in vain."""
    assert judge(wanted, entry, row, make_target()) is state
