"""Stuck documents as an operator sees them: oldest first, with what is known about them."""

import time

import pytest

from functions.core.failure import FailureKind
from functions.core.identity import DocumentId
from functions.core.ledger_row import ErrorRecord, LedgerRow, Status
from ops.deployment import Deployment
from ops.output import UsageError, as_text
from ops.stuck import SHOWN, stuck
from tests.builders import NOW_MS, make_row

HOUR_MS = 3_600_000


def waiting(name: str, **changes: object) -> LedgerRow:
    """Return a new row that is open."""
    return make_row(revision=0, document_id=DocumentId(name), **changes)


@pytest.mark.parametrize("hours", ["nan", "inf", "1e300"])
def test_hours_of_no_use_are_refused(deployment: Deployment, hours: str) -> None:
    """R40: a sentence, no stack trace."""
    with pytest.raises(UsageError, match="--hours is at most"):
        stuck(deployment, hours=float(hours))


def test_stuck_documents_are_listed_oldest_first(deployment: Deployment) -> None:
    """R40: open and parked ones, with the last error; not what is closed, young or in work."""
    error = ErrorRecord(NOW_MS, FailureKind.TIMEOUT, "no answer")
    now_ms = time.time_ns() // 1_000_000
    deployment.ledger.write(
        [
            waiting("second", status=Status.PROCESSING, last_attempt_ms=NOW_MS + HOUR_MS),
            waiting("first", attempts=2, errors=(error,)),
            waiting("third", parked=True, next_attempt_ms=NOW_MS + 2 * HOUR_MS),
            waiting("young", queued_ms=now_ms - 23 * HOUR_MS),
            waiting("in work", status=Status.PROCESSING, last_attempt_ms=now_ms),
            waiting("done", status=Status.COMPLETED),
        ]
    )

    lines = as_text(stuck(deployment)).splitlines()
    assert lines[0] == "3 documents wait for more than 24 hours"
    assert [" ".join(line.split()) for line in lines[1:]] == [
        "document state lane since attempts last error",
        "default/articles/first pending normal 2023-11-14 22:13:20 UTC 2 timeout: no answer",
        "default/articles/second processing normal 2023-11-14 23:13:20 UTC 0 no error is known",
        "default/articles/third parked normal 2023-11-15 00:13:20 UTC 0 no error is known",
    ]


def test_threshold_is_given_in_hours(deployment: Deployment) -> None:
    """R40: of a stage that is meant to be faster."""
    now_ms = time.time_ns() // 1_000_000
    deployment.ledger.write([waiting("young", queued_ms=now_ms - HOUR_MS)])

    assert as_text(stuck(deployment, hours=24)) == "0 documents wait for more than 24 hours"
    shorter = as_text(stuck(deployment, hours=0.5)).splitlines()
    assert shorter[0] == "1 documents wait for more than 0.5 hours"


def test_long_list_is_cut(deployment: Deployment) -> None:
    """R40: the number tells how many there are."""
    deployment.ledger.write([waiting(f"d{number}") for number in range(SHOWN + 2)])

    lines = as_text(stuck(deployment)).splitlines()

    assert (lines[0].split()[0], lines[-1]) == (str(SHOWN + 2), "and 2 more")
