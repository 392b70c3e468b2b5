"""A backfill's segments move, fail and wait; each choice of documents, as tables."""

from dataclasses import replace
from typing import Any

import pytest

from functions.core.backfill_job import (
    LONGEST_DELAY_SECONDS,
    MAX_FAILURES,
    Estimate,
    Job,
    JobState,
    Only,
    Segment,
    is_owed,
)
from functions.core.document import Document, content_hash
from functions.core.entry import StoredEntry
from functions.core.identity import DocumentId
from functions.core.ledger_row import Status
from functions.core.verification import Pair, Sighting
from tests.builders import changed, make_row, make_source, make_target

KEY = {"id": {"S": "m"}}
PAIR = Pair(make_source(skip_attribute="hidden"), make_target())
ITEM = {"id": "a", "body": "hello"}
ENTRY = StoredEntry(
    7, False, content_hash(Document("hello", "document"), PAIR.target), model=PAIR.target.model
)
STALE = replace(ENTRY, content_hash="of another text")


def job(segments: int = 2) -> Job:
    return Job(
        id="job",
        source="articles",
        target="default",
        only=Only.ALL,
        segments=segments,
        by="me",
        reason="first load",
        created_ms=1000,
        estimate=Estimate(items=0, documents=0, tokens=0),
    )


def test_segment_begins_with_its_job() -> None:
    """R43: its silence is counted from there."""
    assert Segment.first(job(), 1) == Segment("job", 1, saved_ms=1000)


def test_segment_moves_behind_a_page_and_forgets_its_failures() -> None:
    """R43: counted over all pages; the page without a next one is the last."""
    before = Segment("job", 1, None, scanned=5, sent=3, on_their_way=1, failures=4, failure="x")

    after = before.advanced(KEY, scanned=10, sent=6, on_their_way=2)

    assert after == Segment("job", 1, KEY, scanned=15, sent=9, on_their_way=3)
    last = after.advanced(None, scanned=1, sent=1, on_their_way=0)
    assert (last.after, last.is_done, last.scanned) == (None, True, 16)


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 10), (2, 20), (3, 40), (6, 320), (7, LONGEST_DELAY_SECONDS), (19, LONGEST_DELAY_SECONDS)],
)
def test_segment_waits_longer_after_each_failure(failures: int, seconds: int) -> None:
    """R43: ten seconds at first, ten minutes at the most."""
    segment = Segment("job", 0, KEY, failures=failures - 1).failed("no answer")

    assert (segment.failures, segment.failure, segment.after) == (failures, "no answer", KEY)
    assert segment.delay_seconds == seconds
    assert not segment.is_exhausted


def test_segment_that_failed_twenty_times_needs_a_person() -> None:
    """R43: some hours after its first failure."""
    assert Segment("job", 0, failures=MAX_FAILURES - 1).failed("no answer").is_exhausted


def test_job_has_at_least_one_segment() -> None:
    """R43: none would never end."""
    assert job(segments=1).segments == 1
    with pytest.raises(ValueError, match=r"^a job has at least one segment, not 0$"):
        job(segments=0)


@pytest.mark.parametrize("state", JobState)
def test_failed_job_can_be_resumed_and_an_ended_one_not(state: JobState) -> None:
    """R43: what has ended expires from the ledger."""
    assert state.has_ended == (state in (JobState.DONE, JobState.CANCELLED))


def row(status: Status, chunks_failed: int = 0) -> Any:
    found = make_row(status=status, version=7)
    return changed(found, chunks_failed=chunks_failed)


@pytest.mark.parametrize(
    ("seen", "sent_by"),
    [
        # In the table only, or with a row that says why.
        ({}, {Only.MISSING, Only.ALL}),
        ({"row": row(Status.PENDING)}, set()),
        ({"row": row(Status.PROCESSING)}, set()),
        ({"row": row(Status.COMPLETED)}, {Only.MISSING, Only.ALL}),
        ({"row": row(Status.FAILED)}, {Only.FAILED, Only.ALL}),
        ({"row": row(Status.FAILED_MAX_RETRIES)}, {Only.FAILED, Only.ALL}),
        # With an entry.
        ({"entry": ENTRY}, {Only.ALL}),
        ({"entry": ENTRY, "row": row(Status.COMPLETED)}, {Only.ALL}),
        ({"entry": ENTRY, "row": row(Status.COMPLETED, 1)}, {Only.FAILED, Only.ALL}),
        ({"entry": ENTRY, "row": row(Status.PARTIALLY_COMPLETED, 1)}, {Only.FAILED, Only.ALL}),
        ({"entry": ENTRY, "has_vectors": False}, {Only.STALE, Only.ALL}),
        ({"entry": STALE}, {Only.STALE, Only.ALL}),
        ({"entry": STALE, "row": row(Status.FAILED)}, {Only.FAILED, Only.ALL}),
        ({"entry": STALE, "row": row(Status.PENDING)}, set()),
        ({"entry": replace(ENTRY, deleted=True)}, {Only.MISSING, Only.ALL}),
        # Items that ask for no entry.
        ({"item": {**ITEM, "hidden": True}}, set()),
        ({"item": {**ITEM, "hidden": True}, "entry": ENTRY}, {Only.STALE, Only.ALL}),
        ({"item": None}, set()),
        ({"item": None, "entry": ENTRY}, {Only.STALE, Only.ALL}),
        # An invalid item fails once, as a live write would.
        ({"item": {"id": "a", "body": b"x"}}, {Only.MISSING, Only.ALL}),
        ({"item": {"id": "a", "body": b"x"}, "row": row(Status.FAILED)}, {Only.FAILED, Only.ALL}),
        ({"item": {"id": "a", "body": b"x"}, "row": row(Status.SKIPPED)}, {Only.ALL}),
    ],
)
def test_each_choice_has_its_documents(seen: dict[str, Any], sent_by: set[Only]) -> None:
    """R43: by item, entry and row; what is open in the ledger is on its way."""
    sighting = Sighting(**{"document_id": DocumentId("a"), "item": ITEM, **seen})

    assert {only for only in Only if is_owed(sighting, only, PAIR)} == sent_by
