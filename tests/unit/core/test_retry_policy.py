"""How often to try, and how long to wait: the presets by their tables, everything else by rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from functions.core.failure import FailureKind
from functions.core.retry_policy import (
    PRESETS,
    STANDARD,
    Backoff,
    RetryPolicy,
    RetrySettings,
    Strategy,
)

SECONDS = st.floats(0, 604_800)
BACKOFFS = st.builds(
    Backoff,
    max_attempts=st.integers(1, 100),
    strategy=st.sampled_from(Strategy),
    base_seconds=SECONDS,
    cap_seconds=SECONDS,
    schedule_seconds=st.lists(SECONDS, min_size=1, max_size=8).map(tuple),
    jitter=st.floats(0, 1),
)
JITTER = st.floats(0, 1, exclude_max=True)
MINUTE = 60


def minutes(*delays: int) -> list[float]:
    return [delay * MINUTE for delay in delays]


@pytest.mark.parametrize(
    ("preset", "attempts", "delays"),
    [
        pytest.param("immediate", 4, [0, 0, 0], id="s0: three retries, at once"),
        pytest.param(
            "patient", 29, minutes(1, 5, 10, 20, 40, *[60] * 23), id="s1: then every 60 minutes"
        ),
        pytest.param("capped", 7, [2, 4, 8, 16, 30, 30], id="s2: min(1s * 2^n, 30s)"),
        pytest.param("slow-3", 3, minutes(5, 10), id="s3: archives and messages"),
        pytest.param("slow-5", 5, minutes(5, 10, 20, 40), id="s3: chunks and threads"),
        pytest.param("quick", 4, [1, 2, 4], id="s4: up to three retries"),
        pytest.param("standard", 5, [4, 8, 16, 32], id="standard, without its jitter"),
    ],
)
def test_preset_has_its_schedule(preset: str, attempts: int, delays: list[float]) -> None:
    """R21: so many attempts in all, and the delay after each that fails but the last."""
    policy = PRESETS[preset]

    assert policy.max_attempts == attempts
    assert [policy.delay_seconds(number) for number in range(1, attempts)] == delays


def test_every_preset_has_its_table() -> None:
    """R21: a new preset comes with a row above."""
    assert set(PRESETS) == {
        "standard", "immediate", "patient", "capped", "slow-3", "slow-5", "quick"
    }  # fmt: skip


@pytest.mark.parametrize("attempts", range(1, 12))
def test_slow_presets_follow_the_formula(attempts: int) -> None:
    """R21: min(300 s * 2^(n-1), 3600 s), also beyond the attempts that they have."""
    expected = min(300 * 2 ** (attempts - 1), 3600)

    assert PRESETS["slow-3"].delay_seconds(attempts) == expected
    assert PRESETS["slow-5"].delay_seconds(attempts) == expected


@pytest.mark.parametrize(
    ("strategy", "delays"),
    [
        (Strategy.IMMEDIATE, [0, 0, 0, 0, 0]),
        (Strategy.LINEAR, [3, 6, 9, 10, 10]),
        (Strategy.EXPONENTIAL, [3, 6, 10, 10, 10]),
        (Strategy.SCHEDULE, [1, 7, 10, 10, 10]),
    ],
)
def test_strategy_grows_up_to_the_cap(strategy: Strategy, delays: list[float]) -> None:
    """R21: immediate, linear, exponential and explicit."""
    backoff = Backoff(
        strategy=strategy, base_seconds=3, cap_seconds=10, schedule_seconds=(1, 7, 12)
    )

    assert [backoff.delay_seconds(number) for number in range(1, 6)] == delays


@pytest.mark.parametrize(("jitter", "delay"), [(0.0, 8.0), (0.5, 6.0), (1.0, 4.0)])
def test_jitter_takes_its_share_off(jitter: float, delay: float) -> None:
    """R21: half of a standard delay is random."""
    assert STANDARD.delay_seconds(2, jitter=jitter) == delay


@given(backoff=BACKOFFS, attempts=st.integers(-1, 10**6), jitter=JITTER)
def test_delay_is_between_zero_and_the_cap(backoff: Backoff, attempts: int, jitter: float) -> None:
    """R21: whatever the settings, the count and the dice."""
    assert 0 <= backoff.delay_seconds(attempts, jitter=jitter) <= backoff.cap_seconds


@given(backoff=BACKOFFS, attempts=st.integers(1, 10**6))
def test_growing_delay_never_shrinks(backoff: Backoff, attempts: int) -> None:
    """R21: the next delay is at least as long; an explicit schedule is as it is."""
    if backoff.strategy is not Strategy.SCHEDULE:
        assert backoff.delay_seconds(attempts) <= backoff.delay_seconds(attempts + 1)


def test_kind_may_have_a_backoff_of_its_own() -> None:
    """R21: configured per document type and per kind."""
    timeouts = Backoff(max_attempts=2, strategy=Strategy.LINEAR, base_seconds=9)
    policy = RetryPolicy(max_attempts=6, kinds={FailureKind.TIMEOUT: timeouts})

    assert policy.backoff(FailureKind.TIMEOUT) == timeouts
    assert policy.attempts_of(FailureKind.TIMEOUT) == 2
    assert policy.backoff(FailureKind.UNKNOWN) == policy
    assert policy.attempts_of(FailureKind.UNKNOWN) == 6


def test_kind_that_is_not_retryable_has_one_attempt() -> None:
    """R21: retryable kinds."""
    policy = RetryPolicy(max_attempts=6, retryable=(FailureKind.TIMEOUT,))

    assert policy.attempts_of(FailureKind.TIMEOUT) == 6
    assert policy.attempts_of(FailureKind.PROVIDER_ERROR) == 1


def test_type_without_a_policy_gets_the_default() -> None:
    """R21: per document type."""
    settings = RetrySettings(default=PRESETS["quick"], types={"thread": PRESETS["slow-5"]})

    assert settings.policy("thread") == PRESETS["slow-5"]
    assert settings.policy("note") == PRESETS["quick"]
    assert settings.policy("") == PRESETS["quick"]


def test_unknown_setting_is_named() -> None:
    """R21: a typing error in a policy does not pass as a default."""
    with pytest.raises(ValidationError, match="max_atempts"):
        RetryPolicy.model_validate({"max_atempts": 3})
