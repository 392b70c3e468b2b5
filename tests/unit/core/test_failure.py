"""Kinds of failure: what follows from each one alone."""

from functions.core.failure import Failure, FailureKind, Part


def test_only_rejected_documents_are_beyond_a_retry() -> None:
    """R24: a person must change the document."""
    assert {kind for kind in FailureKind if kind.is_permanent} == {
        "invalid_input",
        "index_rejected",
    }


def test_document_that_is_not_the_cause_spends_no_attempt() -> None:
    """R22 R24: outages, limits and settings are retried for free."""
    assert {kind for kind in FailureKind if not kind.spends_attempt} == {
        "throttled",
        "configuration",
        "index_busy",
        "store_unavailable",
        "store_denied",
        "event_refused",
        "no_time",
        "budget",
        "tenant_budget",
        "paused",
    }


def test_lane_stops_where_no_request_would_go_better() -> None:
    """R22: the rest of the run is not sent only to fail alike."""
    stopping = {kind for kind in FailureKind if kind.traits.stops_lane}

    assert stopping == {"throttled", "configuration", "budget", "paused"}
    assert not any(kind.spends_attempt for kind in stopping)


def test_each_breaker_counts_the_failures_of_its_own_part() -> None:
    """R22 R25: throttling has its cooldown, and counts against neither."""
    counted = {part: {kind for kind in FailureKind if kind.traits.breaker is part} for part in Part}

    assert counted == {
        Part.PROVIDER: {"timeout", "provider_error"},
        Part.INDEX: {"index_unavailable", "index_busy"},
    }


def test_work_may_be_billed_where_only_the_answer_is_missing() -> None:
    """R19: after a timeout the cost stays counted; an error that the provider names is free."""
    assert {kind for kind in FailureKind if Failure(kind, "").may_be_billed} == {
        "timeout",
        "provider_error",
    }
    assert not Failure(FailureKind.PROVIDER_ERROR, "500", is_refused=True).may_be_billed


def test_stored_name_is_the_kind() -> None:
    """R27: the ledger keeps the name, and reads it back."""
    assert all(FailureKind(str(kind)) is kind for kind in FailureKind)
