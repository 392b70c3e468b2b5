"""The transitions of a breaker, as tables."""

from dataclasses import replace

import pytest

from functions.core.breaker import (
    Breaker,
    Circuit,
    Timing,
    advanced,
    is_failing,
    needs_probe,
    opened,
    paused,
    probed,
    reopening,
    resumed,
    window_start,
)
from functions.core.settings import BreakerSettings
from tests.builders import NOW_MS

OPEN = Breaker(Circuit.OPEN, "down", NOW_MS, due_ms=NOW_MS + 30_000)
PAUSED = Breaker(Circuit.PAUSED, "moving house", NOW_MS)


def at(now_ms: int, jitter: float = 0.0) -> Timing:
    return Timing(now_ms, BreakerSettings(), jitter)


def back(lanes: int) -> Breaker:
    return Breaker(Circuit.REOPENING, "a probe has passed", NOW_MS, due_ms=NOW_MS, lanes=lanes)


@pytest.mark.parametrize(
    ("successes", "failures", "failing"),
    [(15, 5, True), (16, 4, False), (0, 20, True), (0, 0, False)],
)
def test_half_of_the_ratio_that_opens_it_is_failing(
    successes: int, failures: int, failing: bool
) -> None:
    """R26: requests get smaller before the breaker opens."""
    settings = BreakerSettings(failure_ratio=0.5, least_requests=20)
    window_ms = window_start(Breaker(), now_ms=NOW_MS, settings=settings)
    breaker = Breaker(window_ms=window_ms, successes=successes, failures=failures)

    assert is_failing(breaker, now_ms=NOW_MS, settings=settings) is failing


@pytest.mark.parametrize("jitter", [0.0, 0.99])
def test_opened_breaker_waits_for_its_first_probe(jitter: float) -> None:
    """R25: the counts stay, so that the reason can be seen."""
    standing = Breaker(window_ms=NOW_MS - 5, successes=5, failures=5)

    after = opened(standing, at(NOW_MS, jitter), reason="down")

    due_ms = NOW_MS + round(30_000 * (1 - 0.1 * jitter))
    assert after == replace(
        standing, state=Circuit.OPEN, reason="down", since_ms=NOW_MS, due_ms=due_ms
    )


def test_breaker_that_fails_while_it_reopens_waits_longer() -> None:
    """R25: its probe passed too early."""
    standing = replace(back(2), probes=1)

    again = opened(standing, at(NOW_MS), reason="down")

    assert (again.state, again.probes, again.lanes) == (Circuit.OPEN, 2, 0)
    assert again.due_ms == NOW_MS + 120_000


def test_worker_logs_the_change_that_it_makes_itself() -> None:
    """R25: whatever a person has changed before, the breaker function need not log this one."""
    standing = resumed(PAUSED, at(NOW_MS), reason="done")

    assert opened(standing, at(NOW_MS), reason="down").is_logged


@pytest.mark.parametrize("before", [Breaker(), OPEN, replace(back(2), probes=1)])
def test_person_stops_and_resumes_in_every_state(before: Breaker) -> None:
    """R25: the breaker function logs both; a resumed one forgets its failed probes."""
    stopped = paused(before, reason="moving house", now_ms=NOW_MS + 1)

    assert stopped == Breaker(
        Circuit.PAUSED, "moving house", NOW_MS + 1, probes=before.probes, is_logged=False
    )
    assert resumed(stopped, at(NOW_MS + 2, 0.5), reason="done") == Breaker(
        Circuit.REOPENING,
        "done",
        NOW_MS + 2,
        due_ms=NOW_MS + 2 + 42_000,
        lanes=1,
        is_logged=False,
    )


@pytest.mark.parametrize(
    ("breaker", "due"),
    [
        (replace(OPEN, due_ms=NOW_MS), True),
        (replace(OPEN, due_ms=NOW_MS + 1), False),
        (PAUSED, False),
        (back(1), False),
        (Breaker(), False),
    ],
    ids=["due", "not-yet", "paused", "reopening", "closed"],
)
def test_probe_is_sent_only_when_it_is_due(breaker: Breaker, due: bool) -> None:
    """R25: a person's pause is never probed away."""
    assert needs_probe(breaker, now_ms=NOW_MS) is due


@pytest.mark.parametrize(("probes", "seconds"), [(0, 60), (1, 120), (2, 300), (9, 300)])
@pytest.mark.parametrize("jitter", [0.0, 0.99])
def test_failed_probe_waits_longer_each_time(probes: int, seconds: int, jitter: float) -> None:
    """R25: in steps, the last one repeating, a tenth of it random."""
    after = probed(replace(OPEN, probes=probes), at(NOW_MS, jitter), failure="timeout: no answer")

    assert (after.state, after.reason, after.probes, after.since_ms) == (
        Circuit.OPEN,
        "timeout: no answer",
        probes + 1,
        OPEN.since_ms,
    )
    assert after.due_ms == pytest.approx(NOW_MS + seconds * 1000 * (1 - 0.1 * jitter), abs=1)


def test_passed_probe_lets_the_first_lanes_back() -> None:
    """R25: and begins a new state, so that old failures do not count in it."""
    after = probed(replace(OPEN, probes=3), at(NOW_MS + 9, 0.5), failure=None)

    assert after == Breaker(
        Circuit.REOPENING,
        "a probe has passed",
        NOW_MS + 9,
        probes=3,
        due_ms=NOW_MS + 9 + 42_000,
        lanes=1,
    )


@pytest.mark.parametrize("steps", [1, 3, 4])
def test_lanes_come_back_step_by_step(steps: int) -> None:
    """R25: each after its time, and when all are back for a while, it is closed."""
    breaker, now_ms, seen = replace(back(1), probes=2), NOW_MS, [1]
    while breaker.state is Circuit.REOPENING:
        early = advanced(breaker, at(breaker.due_ms - 1), steps=steps)
        assert early == breaker
        now_ms = breaker.due_ms
        breaker = advanced(breaker, at(now_ms), steps=steps)
        seen.append(breaker.lanes)
        assert breaker.state is Circuit.CLOSED or breaker.due_ms == now_ms + 30_000

    assert seen == [*range(1, steps + 1), 0]
    assert breaker == Breaker(Circuit.CLOSED, "all lanes are back", now_ms)


@pytest.mark.parametrize("jitter", [0.0, 0.999])
def test_next_lanes_come_back_when_the_breaker_function_looks_again(jitter: float) -> None:
    """R25: it looks each minute; by default no step takes two."""
    breaker = reopening(OPEN, at(NOW_MS, jitter), reason="a probe has passed")

    # A run that begins some seconds early, too.
    assert advanced(breaker, at(NOW_MS + 55_000), steps=3).lanes == 2


@pytest.mark.parametrize("breaker", [Breaker(), OPEN, PAUSED], ids=lambda b: str(b.state))
def test_only_a_reopening_breaker_advances(breaker: Breaker) -> None:
    """R25: the others wait for a failure, a probe or a person."""
    later_ms = NOW_MS + 10_000_000

    assert advanced(breaker, at(later_ms), steps=4) == breaker
