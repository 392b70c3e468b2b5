"""What follows a failure: the decision alone."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.control import LONGEST_COOLDOWN_SECONDS
from functions.core.failure import Failure, FailureKind
from functions.core.ledger_row import Progress
from functions.core.next_step import (
    ATTEMPTS_WHILE_FAILING,
    FREE_BASE_SECONDS,
    FREE_CAP_SECONDS,
    LAST_HIDING_RECEIVE,
    MAX_RECEIVES,
    GiveUp,
    Heal,
    Park,
    RetryAfter,
    Step,
    later_seconds,
    may_be_last,
    next_step,
    soon_seconds,
)
from functions.core.retry_policy import PRESETS, Backoff, Healing, RetryPolicy, RetrySettings
from tests.builders import NOW_MS

PLAIN = RetrySettings(default=RetryPolicy(max_attempts=5, base_seconds=2, cap_seconds=600))
UNHEALED = PLAIN.model_copy(update={"healing": Healing(hours=0)})
TRANSIENT = Failure(FailureKind.PROVIDER_ERROR, "503")
EXHAUSTED = "5 attempts failed, the last one with provider_error: 503"
PERMANENT = [kind for kind in FailureKind if kind.is_permanent]
FREE = [kind for kind in FailureKind if not kind.spends_attempt and not kind.is_permanent]
CHARGED = [kind for kind in FailureKind if kind.spends_attempt and not kind.is_permanent]
HOUR_MS = 3_600_000
# Since the message was received: SQS refuses to hide it for longer.
MAX_VISIBILITY_SECONDS = 43_200
LONGEST_RUN_SECONDS = 900

TRIED = st.builds(
    Progress,
    attempts=st.integers(0, 1000),
    free_retries=st.integers(1, 1000),
    receive_count=st.integers(1, MAX_RECEIVES),
    heals=st.integers(0, 1000),
    failing_since_ms=st.none() | st.integers(NOW_MS - 100 * HOUR_MS, NOW_MS),
)
SETTINGS = st.builds(
    RetrySettings,
    default=st.sampled_from(list(PRESETS.values())),
    max_hide_seconds=st.floats(1, 900),
    healing=st.builds(
        Healing,
        after_seconds=st.lists(st.floats(900, 604_800), min_size=1, max_size=6).map(tuple),
        hours=st.floats(0, 48),
    ),
)
JITTER = st.floats(0, 1, exclude_max=True)
ASKED = st.none() | st.floats(0, 1e6)


FIRST = Progress(attempts=1, free_retries=1, receive_count=1)


def step_after(
    failure: Failure,
    settings: RetrySettings = PLAIN,
    *,
    failing_ms: int = 0,
    jitter: float = 0.0,
    **tried: Any,
) -> Step:
    progress = replace(FIRST, failing_since_ms=NOW_MS - failing_ms, **tried)
    return next_step(
        failure, progress, settings, document_type="note", now_ms=NOW_MS, jitter=jitter
    )


@pytest.mark.parametrize(
    ("attempts", "step"),
    [
        (1, RetryAfter(2)),
        (2, RetryAfter(4)),
        (4, RetryAfter(16)),
        (5, Heal(60, EXHAUSTED)),
    ],
)
def test_failure_that_spends_an_attempt_backs_off_until_its_attempts_are_spent(
    attempts: int, step: Step
) -> None:
    """R20 R21 R30: by visibility while the delay is short, then it heals."""
    assert step_after(TRANSIENT, attempts=attempts) == step


@pytest.mark.parametrize(
    ("preset", "steps"),
    [
        ("immediate", [RetryAfter(0)] * 3),
        ("patient", [RetryAfter(60), *[Park(60 * n) for n in (5, 10, 20, 40, 60, 60)]]),
        ("capped", [RetryAfter(n) for n in (2, 4, 8, 16, 30, 30)]),
        ("slow-3", [Park(300), Park(600)]),
        ("slow-5", [Park(300), Park(600), Park(1200), Park(2400)]),
        ("quick", [RetryAfter(1), RetryAfter(2), RetryAfter(4)]),
    ],
)
def test_preset_hides_short_delays_and_parks_long_ones(preset: str, steps: list[Step]) -> None:
    """R20 R21: a newer version never waits an hour behind an older one's backoff."""
    settings = RetrySettings(default=PRESETS[preset])
    numbers = range(1, len(steps) + 1)

    assert [step_after(TRANSIENT, settings, attempts=number) for number in numbers] == steps


def test_type_and_kind_choose_the_policy() -> None:
    """R21: per document type and per kind."""
    slow = RetryPolicy(base_seconds=60, kinds={FailureKind.TIMEOUT: Backoff(base_seconds=7)})
    settings = RetrySettings(default=PRESETS["quick"], types={"thread": slow})

    def step(kind: FailureKind, document_type: str) -> Step:
        return next_step(
            Failure(kind, "x"), FIRST, settings, document_type=document_type, now_ms=NOW_MS
        )

    assert step(FailureKind.UNKNOWN, "note") == RetryAfter(1)
    assert step(FailureKind.UNKNOWN, "thread") == RetryAfter(60)
    assert step(FailureKind.TIMEOUT, "thread") == RetryAfter(7)


def test_kind_that_is_not_retryable_is_given_up() -> None:
    """R21: the policy says that a person shall look."""
    settings = RetrySettings(default=RetryPolicy(retryable=(FailureKind.TIMEOUT,)))

    step = step_after(TRANSIENT, settings)

    reason = "1 attempts failed, the last one with provider_error: 503"
    assert step == GiveUp(reason, is_permanent=False)


TIMEOUT = FailureKind.TIMEOUT
TWICE = RetryPolicy(kinds={TIMEOUT: Backoff(max_attempts=2)})
NEVER = RetrySettings(default=RetryPolicy(retryable=(FailureKind.RESOURCE,)))


@pytest.mark.parametrize(
    ("settings", "tried", "is_last"),
    [
        (UNHEALED, Progress(attempts=3), False),
        (UNHEALED, Progress(attempts=4), True),
        (PLAIN, Progress(attempts=4), False),
        (PLAIN, Progress(attempts=9, failing_since_ms=NOW_MS), True),
        (NEVER, Progress(), True),
        (RetrySettings(default=TWICE), Progress(attempts=1), False),
        (RetrySettings(default=TWICE, healing=Healing(hours=0)), Progress(), False),
        (RetrySettings(default=TWICE, healing=Healing(hours=0)), Progress(attempts=1), True),
    ],
)
def test_failure_that_may_be_the_last_is_known_before(
    settings: RetrySettings, tried: Progress, is_last: bool
) -> None:
    """R21 R35: by the attempts of its kind, and by what comes after them."""
    assert may_be_last(TIMEOUT, tried, settings, document_type="x") is is_last


def test_attempts_are_cut_while_most_requests_fail() -> None:
    """R26: dynamic limits; more attempts would only add to the load, and healing comes later."""

    def step(attempts: int, settings: RetrySettings = PLAIN, *, is_failing: bool) -> Step:
        tried = replace(FIRST, attempts=attempts)
        return next_step(
            TRANSIENT,
            tried,
            settings,
            document_type="note",
            now_ms=NOW_MS,
            is_failing=is_failing,
        )

    assert step(ATTEMPTS_WHILE_FAILING, is_failing=False) == RetryAfter(4)
    assert isinstance(step(ATTEMPTS_WHILE_FAILING, is_failing=True), Heal)
    assert step(ATTEMPTS_WHILE_FAILING - 1, is_failing=True) == RetryAfter(2)
    assert step(ATTEMPTS_WHILE_FAILING, UNHEALED, is_failing=True) == RetryAfter(4)
    half_an_hour = PLAIN.model_copy(update={"healing": Healing(hours=0.5)})
    assert isinstance(step(ATTEMPTS_WHILE_FAILING, half_an_hour, is_failing=True), Heal)


@pytest.mark.parametrize(
    ("kind", "asked", "step"),
    [
        (FailureKind.PROVIDER_ERROR, 7.5, RetryAfter(7.5)),
        (FailureKind.PROVIDER_ERROR, 0.5, RetryAfter(2)),
        (FailureKind.PROVIDER_ERROR, 500.0, Park(500.0)),
        (FailureKind.PROVIDER_ERROR, 86_400.0, Park(900.0)),
        (FailureKind.PROVIDER_ERROR, PLAIN.max_hide_seconds, RetryAfter(PLAIN.max_hide_seconds)),
        (FailureKind.INDEX_BUSY, 9.0, RetryAfter(9.0)),
        (FailureKind.THROTTLED, 9.0, Park(9.0)),
        (FailureKind.PAUSED, 77.0, Park(77.0)),
        (FailureKind.THROTTLED, None, Park(4.0)),
        (FailureKind.STORE_UNAVAILABLE, None, RetryAfter(4.0)),
    ],
)
def test_retry_after_is_the_least_delay(kind: FailureKind, asked: float | None, step: Step) -> None:
    """R23: who was asked says when; throttled and paused work leaves the queue meanwhile."""
    assert step_after(Failure(kind, "x", asked)) == step


def test_healing_waits_as_long_as_the_provider_asks() -> None:
    """R23 R30: but for a quarter of an hour at most."""
    asked = [Failure(FailureKind.PROVIDER_ERROR, "503", seconds) for seconds in (30, 300, 86_400)]

    steps = [step_after(failure, attempts=5) for failure in asked]

    assert [step.delay_seconds for step in steps if isinstance(step, Heal)] == [60, 300, 900]


@pytest.mark.parametrize(
    ("waits", "step"),
    [(1, RetryAfter(4)), (2, RetryAfter(8)), (5, RetryAfter(64)), (6, Park(128)), (99, Park(300))],
)
def test_free_retry_waits_longer_each_time(waits: int, step: Step) -> None:
    """R23: up to five minutes."""
    assert step_after(Failure(FailureKind.STORE_UNAVAILABLE, "x"), free_retries=waits) == step


def test_backoff_is_spread_by_the_share_of_its_policy() -> None:
    """R20: documents that failed together do not come back together."""
    settings = RetrySettings(default=RetryPolicy(base_seconds=10, jitter=0.4))
    full = next_step(TRANSIENT, FIRST, settings, document_type="note", now_ms=NOW_MS)

    assert full == RetryAfter(10.0)
    assert step_after(TRANSIENT, settings, jitter=0.5) == RetryAfter(8.0)


def test_free_retry_is_spread_over_half_of_its_wait() -> None:
    """R23: workers that failed together do not come back together."""
    step = step_after(Failure(FailureKind.STORE_UNAVAILABLE, "x"), jitter=0.5)

    assert step == RetryAfter(3.0)


@pytest.mark.parametrize(
    ("heals", "minutes"), [(0, 1), (1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (20, 60)]
)
def test_healing_follows_its_schedule(heals: int, minutes: int) -> None:
    """R30: 1-5-10-20-40-60 minutes, then every 60."""
    assert step_after(TRANSIENT, attempts=5, heals=heals) == Heal(minutes * 60, EXHAUSTED)


@given(kind=st.sampled_from(CHARGED), settings=SETTINGS)
def test_healing_ends_after_its_hours(kind: FailureKind, settings: RetrySettings) -> None:
    """R30: the dead letters hold what needs a person, and they get it in the end."""
    moments_ms = [0]  # of each failure since the attempts ran out
    steps: list[Step] = []

    # A hundred hours hold no more quarters of an hour than this.
    for heals in range(401):
        failing_ms = moments_ms[-1]
        steps.append(
            step_after(
                Failure(kind, "x"), settings, attempts=9999, heals=heals, failing_ms=failing_ms
            )
        )
        if not isinstance(steps[-1], Heal):
            break
        moments_ms.append(failing_ms + round(steps[-1].delay_seconds * 1000))

    limit_ms = settings.healing.hours * HOUR_MS
    assert steps[-1] == GiveUp(f"9999 attempts failed, the last one with {kind}: x", False)
    assert moments_ms[-1] >= limit_ms
    assert all(at_ms < limit_ms for at_ms in moments_ms[:-1])


def test_without_healing_the_last_attempt_gives_up() -> None:
    """R30: healing off, straight to the dead letters."""
    assert step_after(TRANSIENT, UNHEALED, attempts=5) == GiveUp(EXHAUSTED, is_permanent=False)


@given(kind=st.sampled_from(PERMANENT), tried=TRIED, settings=SETTINGS, failing=st.booleans())
def test_permanent_failure_gives_up_at_once(
    kind: FailureKind, tried: Progress, settings: RetrySettings, failing: bool
) -> None:
    """R24: waiting would not help, whatever was tried."""
    step = next_step(
        Failure(kind, "no", 5.0),
        tried,
        settings,
        document_type="note",
        now_ms=NOW_MS,
        is_failing=failing,
    )

    assert step == GiveUp(f"{kind}: no", is_permanent=True)


@given(
    kind=st.sampled_from(FREE), tried=TRIED, settings=SETTINGS, asked=ASKED, failing=st.booleans()
)
def test_free_retry_never_gives_up(
    kind: FailureKind, tried: Progress, settings: RetrySettings, asked: float | None, failing: bool
) -> None:
    """R23 R24: no document fails for what is none of its fault."""
    step = next_step(
        Failure(kind, "x", asked),
        tried,
        settings,
        document_type="note",
        now_ms=NOW_MS,
        is_failing=failing,
    )

    assert isinstance(step, RetryAfter | Park)


@given(
    kind=st.sampled_from(FailureKind),
    tried=TRIED,
    settings=SETTINGS,
    asked=ASKED,
    jitter=JITTER,
    failing=st.booleans(),
)
def test_message_is_hidden_only_shortly_and_not_too_often(
    kind: FailureKind,
    tried: Progress,
    settings: RetrySettings,
    asked: float | None,
    jitter: float,
    failing: bool,
) -> None:
    """R04 R20: waiting burns no receives, and only what is given up becomes a dead letter."""
    failure = Failure(kind, "x", asked)

    step = next_step(
        failure,
        tried,
        settings,
        document_type="note",
        now_ms=NOW_MS,
        is_failing=failing,
        jitter=jitter,
    )

    if isinstance(step, RetryAfter):
        assert tried.receive_count < LAST_HIDING_RECEIVE
        assert 0 <= step.delay_seconds <= settings.max_hide_seconds
    if isinstance(step, RetryAfter | Park) and kind.spends_attempt:
        cap = settings.default.cap_seconds
        least = min(asked or 0.0, LONGEST_COOLDOWN_SECONDS)
        assert least <= step.delay_seconds <= max(cap, least)
    if not kind.spends_attempt:
        assert isinstance(step, RetryAfter | Park)
        assert max(FREE_BASE_SECONDS / 2, asked or 0.0) <= step.delay_seconds
        assert step.delay_seconds <= max(FREE_CAP_SECONDS, asked or 0.0)


@pytest.mark.parametrize("kind", [*CHARGED, FailureKind.STORE_UNAVAILABLE])
def test_last_receives_are_kept_for_kills(kind: FailureKind) -> None:
    """R20 R31: parked before the redrive policy could move a message that was not given up."""
    before = step_after(Failure(kind, "x"), receive_count=LAST_HIDING_RECEIVE - 1)
    then = step_after(Failure(kind, "x"), receive_count=LAST_HIDING_RECEIVE)

    assert isinstance(before, RetryAfter)
    assert then == Park(before.delay_seconds)


@pytest.mark.parametrize("kind", [*CHARGED, FailureKind.STORE_UNAVAILABLE, FailureKind.NO_TIME])
def test_task_that_another_run_has_parked_stays_parked(kind: FailureKind) -> None:
    """R29 R31: that run may have acknowledged the message; hidden, the task would wait a day."""
    before = step_after(Failure(kind, "x"))

    assert isinstance(before, RetryAfter)
    assert step_after(Failure(kind, "x"), parked=True) == Park(before.delay_seconds)


def test_message_without_a_ledger_outlasts_a_night() -> None:
    """R31: a store that is down loses no message to the dead letters, nor asks too much of SQS."""
    delays = [later_seconds(receives) for receives in range(1, MAX_RECEIVES + 1)]

    assert delays == sorted(delays)
    assert sum(delays[:-1]) > 8 * 3600
    assert delays[-1] + LONGEST_RUN_SECONDS <= MAX_VISIBILITY_SECONDS


def test_message_that_no_run_had_time_for_comes_again_soon() -> None:
    """R20: nothing is wrong with it; it is parked before its deliveries are used up."""
    delays = [soon_seconds(receives, PLAIN) for receives in range(1, LAST_HIDING_RECEIVE)]

    assert delays == [4, 8, 16, 32, 64, 120, 120]
