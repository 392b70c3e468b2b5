"""The one way to choose failed documents."""

from datetime import UTC, datetime, timedelta
from typing import Any

import click
import pytest

from functions.core.failure import FailureKind
from functions.core.identity import DocumentId
from functions.core.ledger_row import ErrorRecord, LedgerRow, Status
from ops.deployment import Deployment
from ops.document_rows import find_row, possible_ids
from ops.output import UsageError, written
from ops.selection import Moment, Selection
from tests.builders import NOW_MS, make_row

DAY_MS = 24 * 3600 * 1000
NOON = datetime.fromtimestamp(NOW_MS / 1000, UTC)


def failed(name: str, message: str = "empty", **changes: Any) -> LedgerRow:
    error = ErrorRecord(NOW_MS, FailureKind.INVALID_INPUT, message)
    values = {"status": Status.FAILED, "failed_ms": NOW_MS, "errors": (error,)} | changes
    return make_row(revision=0, document_id=DocumentId(name), **values)


@pytest.fixture
def ledger(deployment: Deployment) -> Deployment:
    deployment.ledger.write(
        [
            failed("new", type="news"),
            failed("old", failed_ms=NOW_MS - 3 * DAY_MS),
            failed("large", "7 chunks"),
            failed("partial", status=Status.PARTIALLY_COMPLETED, completed_ms=NOW_MS),
            make_row(revision=0, document_id=DocumentId("open")),
        ]
    )
    return deployment


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        ({}, {"new", "old", "large", "partial"}),
        ({"cause": "chunks"}, {"large"}),
        ({"type": "news"}, {"new"}),
        ({"since": NOON - timedelta(days=1)}, {"new", "large", "partial"}),
        ({"before": NOON - timedelta(days=1)}, {"old"}),
        ({"documents": ("old", "large")}, {"old", "large"}),
        ({"documents": ("old",), "cause": "empty"}, {"old"}),
        ({"source": "articles", "target": "default"}, {"new", "old", "large", "partial"}),
    ],
)
def test_documents_are_chosen(ledger: Deployment, chosen: dict[str, Any], found: set[str]) -> None:
    """R41: by cause, type, age and id, all at once."""
    rows = Selection(**chosen).rows(ledger)

    assert {row.task.document_id for row in rows} == found


def test_document_that_is_named_twice_is_chosen_once(ledger: Deployment) -> None:
    """R41: it is neither counted nor sent twice."""
    [row] = Selection(documents=("old", "old")).rows(ledger)

    assert row.task.document_id == "old"


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"cause": "nonsense"}, "no failed document has the cause 'nonsense'"),
        ({"documents": ("open",)}, "'open' is not failed: default/articles/open is pending"),
        ({"documents": ("nobody",)}, "the ledger has no row of 'nobody'"),
        ({"source": "books"}, "--source is one of: articles"),
        ({"target": "large"}, "--target is one of: default"),
        ({"since": NOON, "before": NOON - timedelta(hours=1)}, "--since .* is not before --before"),
        ({"since": NOON, "before": NOON}, "--since .* is not before --before"),
        ({"documents": ("old",), "source": "books"}, "--source is one of: articles"),
        ({"documents": ("old",), "target": "large"}, "--target is one of: default"),
    ],
)
def test_wrong_choice_is_said(ledger: Deployment, chosen: dict[str, Any], message: str) -> None:
    """R41: nothing is passed over in silence."""
    with pytest.raises(UsageError, match=message):
        Selection(**chosen).rows(ledger)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", -90), ("30m", -1800), ("2h", -7200), ("3d", -3 * 86400)]
)
def test_age_is_a_distance_from_now(text: str, seconds: int) -> None:
    """R41: as in --since 2h."""
    found = Moment().convert(text, None, None)

    distance = (found - datetime.now(UTC)).total_seconds()
    assert distance == pytest.approx(seconds, abs=5)
    assert Moment(is_ahead=True).convert(text, None, None) > datetime.now(UTC)


@pytest.mark.parametrize(
    ("text", "hour"), [("2026-01-31", 0), ("2026-01-31T14:00", 14), ("2026-01-31T14:00+02:00", 12)]
)
def test_time_without_a_zone_is_utc(text: str, hour: int) -> None:
    """R41: as every time that is printed."""
    assert Moment().convert(text, None, None).astimezone(UTC).hour == hour


def test_time_of_another_zone_is_shown_in_utc() -> None:
    """R41: what is printed with UTC is in UTC."""
    at = Moment().convert("2026-01-31T14:00+02:00", None, None)

    assert written(at) == "2026-01-31 12:00:00 UTC"


@pytest.mark.parametrize("text", ["9999-12-31T23:59-23:00", "0001-01-01T00:00+23:00"])
def test_time_that_utc_does_not_have_is_refused(text: str) -> None:
    """R40: in words, and not with a stack trace."""
    with pytest.raises(click.BadParameter, match="is further away than any date"):
        Moment().convert(text, None, None)


def test_distance_beyond_all_dates_is_refused() -> None:
    """R40: in words, and not with a stack trace."""
    with pytest.raises(click.BadParameter, match="'999999d' is further away than any date"):
        Moment().convert("999999d", None, None)


@pytest.mark.parametrize("text", ["yesterday", "2 h", "-2h", "2026-13-01", ""])
def test_wrong_time_is_shown_with_what_is_expected(text: str) -> None:
    """R40: the value, and how a time is written."""
    with pytest.raises(click.BadParameter, match=r"is no time: write 2026-01-31.*30m, 2h or 3d"):
        Moment().convert(text, None, None)


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        ("a|b", ["a|b"]),
        ("a%7Cb|c", ["a%7Cb|c", "a%257Cb|c"]),
        ("a|b|c", ["a|b|c", "a|b%7Cc", "a%7Cb|c"]),
        ("50%|c", ["50%|c", "50%25|c"]),
    ],
)
def test_composite_key_is_found_as_it_is_written(written: str, ids: list[str]) -> None:
    """R40: with | and % in its values, or as the ledger spells it."""
    assert possible_ids(written, ("partition", "sort")) == ids


def test_simple_key_with_a_bar_is_its_own_id(deployment: Deployment) -> None:
    """R40: nothing is split."""
    deployment.ledger.write([make_row(revision=0, document_id=DocumentId("a|b"))])

    row = find_row(deployment, "a|b", source=None, target=None)

    assert row is not None
    assert row.task.document_id == "a|b"
