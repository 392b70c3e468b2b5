"""When to try again: the decision alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.failure import Failure, FailureKind
from functions.core.retry_policy import MAX_HIDE_SECONDS, GiveUp, RetryAfter, RetryPolicy

POLICY = RetryPolicy(max_attempts=5, base_seconds=2, cap_seconds=120)
TRANSIENT = Failure(FailureKind.PROVIDER_ERROR, "503")


@pytest.mark.parametrize(("receives", "delay"), [(1, 2), (2, 4), (3, 8), (9, 120)])
def test_delay_doubles_with_each_delivery(receives: int, delay: float) -> None:
    """R20: exponential backoff; full jitter gives the whole delay."""
    step = POLICY.next_step(TRANSIENT, attempts=1, receives=receives, jitter=1.0)

    assert step == RetryAfter(delay)


def test_last_attempt_gives_up_with_its_history() -> None:
    """R20: out of attempts is not permanent: it may heal."""
    step = POLICY.next_step(TRANSIENT, attempts=5, receives=5, jitter=0)

    assert step == GiveUp("5 attempts failed, the last one with provider_error: 503", False)


@pytest.mark.parametrize("kind", [FailureKind.INVALID_INPUT, FailureKind.INDEX_REJECTED])
def test_permanent_failure_gives_up_at_once(kind: FailureKind) -> None:
    """R24: waiting would help nobody."""
    step = POLICY.next_step(Failure(kind, "no"), attempts=1, receives=1, jitter=0)

    assert step == GiveUp(f"{kind}: no", True)


@pytest.mark.parametrize(
    "kind",
    [
        FailureKind.THROTTLED,
        FailureKind.CONFIGURATION,
        FailureKind.INDEX_BUSY,
        FailureKind.STORE_UNAVAILABLE,
    ],
)
def test_failure_that_charges_nobody_goes_on_until_the_last_delivery(kind: FailureKind) -> None:
    """R22 R23 R24: no document's fault; but what SQS moves away is explained in the ledger."""
    steps = [
        POLICY.next_step(Failure(kind, "wait"), attempts=100, receives=receives, jitter=0)
        for receives in (9, 10)
    ]

    assert steps == [
        RetryAfter(60),
        GiveUp(f"10 deliveries failed, the last one with {kind}: wait", False),
    ]


def test_retry_after_is_honoured() -> None:
    """R23: the provider says when."""
    failure = Failure(FailureKind.THROTTLED, "429", 7.5)

    assert POLICY.next_step(failure, attempts=0, receives=1, jitter=0) == RetryAfter(7.5)
    assert POLICY.next_step(failure, attempts=0, receives=6, jitter=0) == RetryAfter(32)


@given(
    kind=st.sampled_from(FailureKind),
    attempts=st.integers(0, 1000),
    receives=st.integers(0, 1000),
    jitter=st.floats(0, 1, exclude_max=True),
    retry_after=st.none() | st.floats(0, 1e9),
)
def test_no_delay_is_longer_than_a_newer_version_may_wait(
    kind: FailureKind, attempts: int, receives: int, jitter: float, retry_after: float | None
) -> None:
    """R04 R20: a message hides at most two minutes, so nothing waits long behind it."""
    step = POLICY.next_step(
        Failure(kind, "x", retry_after), attempts=attempts, receives=receives, jitter=jitter
    )

    assert isinstance(step, GiveUp) or 0 <= step.delay_seconds <= MAX_HIDE_SECONDS
