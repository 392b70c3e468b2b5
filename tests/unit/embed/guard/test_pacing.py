"""When a worker may send its next request."""

from typing import Any

import pytest

from functions.core.ports import Allowance, RateLimit
from functions.embed.guard.pacing import NO_HEADERS, Pace, ready_ms
from tests.builders import NOW_MS, make_target

ASKED_MS, ANSWERED_MS = NOW_MS, NOW_MS + 500


def pace(allowance: Allowance = NO_HEADERS, tokens: int = 1000) -> Pace:
    return Pace(ASKED_MS, tokens, ANSWERED_MS, allowance)


@pytest.mark.parametrize(
    ("allowance", "seconds"),
    [
        pytest.param(Allowance(RateLimit(3, 60, 60), RateLimit(500, 60, 6000)), 0, id="enough"),
        pytest.param(Allowance(tokens=RateLimit(500, 20)), 0, id="just-enough"),
        pytest.param(Allowance(RateLimit(0, 60, 60)), 1, id="a-request-is-back-after-a-second"),
        pytest.param(Allowance(tokens=RateLimit(100, 59, 6000)), 4, id="tokens-fill-up-evenly"),
        pytest.param(
            Allowance(RateLimit(0, 60, 60), RateLimit(0, 60, 6000)), 5, id="the-later-decides"
        ),
        pytest.param(Allowance(tokens=RateLimit(100, 20)), 20, id="no-limit-told-no-rate-known"),
        pytest.param(Allowance(tokens=RateLimit(0, 60, 400)), 60, id="more-than-all-there-ever-is"),
        pytest.param(Allowance(RateLimit(0, 7, 0)), 7, id="a-limit-of-nothing"),
        pytest.param(Allowance(RateLimit(0, 86_400)), 900, id="a-day-is-a-quarter-of-an-hour"),
    ],
)
def test_headers_tell_when_there_is_enough_again(allowance: Allowance, seconds: float) -> None:
    """R23: a request that would be throttled is not sent."""
    assert ready_ms(pace(allowance), 500, make_target()) == ANSWERED_MS + seconds * 1000


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        pytest.param({}, 0, id="nothing-known"),
        pytest.param({"requests_per_minute": 100}, 6, id="requests"),
        pytest.param({"tokens_per_minute": 50_000}, 12, id="tokens"),
        pytest.param({"requests_per_minute": 100, "tokens_per_minute": 50_000}, 12, id="both"),
        pytest.param({"requests_per_minute": 100, "workers": 2}, 1.2, id="fewer-workers"),
        pytest.param({"tokens_per_minute": 500}, 900, id="never-longer-than-a-quarter-of-an-hour"),
    ],
)
def test_without_headers_each_worker_takes_its_share(
    settings: dict[str, Any], seconds: float
) -> None:
    """R23: ten workers together stay below the configured limit."""
    assert ready_ms(pace(), 500, make_target(**settings)) == ASKED_MS + seconds * 1000


def test_answer_of_several_requests_counts_as_many() -> None:
    """R17 R23: Titan takes one text a request."""
    target = make_target(requests_per_minute=100)

    assert ready_ms(Pace(ASKED_MS, requests=5), 500, target) == ASKED_MS + 30_000


def test_first_request_waits_for_nothing() -> None:
    """R23: there is nothing yet to keep a distance from."""
    assert ready_ms(Pace(), 500, make_target(requests_per_minute=1)) == 0


def test_headers_outrank_the_settings() -> None:
    """R23: they tell about the whole account, as it is now."""
    roomy = Allowance(RateLimit(90, 1, 100))

    assert ready_ms(pace(roomy), 500, make_target(requests_per_minute=1)) == ANSWERED_MS
