"""Causes: what some failed documents have in common, and what to do about it."""

import pytest

from functions.core.failure import FailureKind
from functions.core.identity import DocumentId
from functions.core.ledger_row import ErrorRecord, LedgerRow, Status
from ops.causes import REMEDIES, by_cause, cause_of, normalised
from tests.builders import NOW_MS, make_row


def failed(name: str, message: str, at_ms: int = NOW_MS) -> LedgerRow:
    error = ErrorRecord(at_ms, FailureKind.INVALID_INPUT, message)
    return make_row(
        document_id=DocumentId(name), status=Status.FAILED, failed_ms=at_ms, errors=(error,)
    )


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("1,204 chunks are more than 1000", "N chunks are more than N"),
        ("the provider answered 400 invalid_value", "the provider answered 400 invalid_value"),
        ("OpenSearch answered 503: it took 12.5 s", "OpenSearch answered 503: it took N s"),
        ("metadata 'year' is no \"long\"", "metadata '...' is no '...'"),
        ("request 0af45cd3-1111-2222-3333-0123456789ab failed", "request ID failed"),
        ("trace deadbeefcafe01 was lost", "trace ID was lost"),
        ("arn:aws:s3:::bucket/key is gone", "ID is gone"),
        ("it's the provider's fault", "it's the provider's fault"),
        ("text-embedding-3-small is no model", "text-embedding-3-small is no model"),
        ("two\n  lines", "two lines"),
    ],
)
def test_what_differs_between_documents_is_replaced(message: str, cause: str) -> None:
    """R42: numbers, ids and quoted parts; the provider's status stays."""
    assert normalised(message) == cause


def test_rows_of_one_cause_are_counted_together() -> None:
    """R42: the most frequent first, with the first and the last time."""
    rows = [
        failed("a", "7 chunks are more than 5", NOW_MS + 2),
        failed("b", "the text is empty", NOW_MS),
        failed("c", "9 chunks are more than 5", NOW_MS + 1),
    ]

    [first, second] = by_cause(rows)

    assert (first.cause.message, first.first_ms, first.last_ms) == (
        "N chunks are more than N",
        NOW_MS + 1,
        NOW_MS + 2,
    )
    assert [row.task.document_id for row in first.rows] == ["a", "c"]
    assert [row.task.document_id for row in second.rows] == ["b"]


def test_cause_is_named_by_its_id_or_a_part_of_its_message() -> None:
    """R41: the id stays the same from day to day."""
    cause = cause_of(failed("a", "7 chunks are more than 5"))

    assert cause.id == cause_of(failed("b", "8 chunks are more than 5")).id
    assert cause.is_meant_by(cause.id)
    assert cause.is_meant_by("CHUNKS are")
    assert cause.is_meant_by("invalid_input")
    assert not cause.is_meant_by("empty")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (make_row(status=Status.FAILED, reason="no key in record 7"), "no key in record N"),
        (make_row(status=Status.FAILED), "no reason recorded"),
        (make_row(status=Status.PARTIALLY_COMPLETED), "some chunks were rejected"),
    ],
)
def test_row_without_an_error_has_a_cause(row: LedgerRow, message: str) -> None:
    """R42: a stream record without a key, and a document without some chunks."""
    assert cause_of(row).message == message


def test_every_failure_kind_has_a_remedy() -> None:
    """R42: none is left to be guessed."""
    assert set(REMEDIES) == set(FailureKind)
