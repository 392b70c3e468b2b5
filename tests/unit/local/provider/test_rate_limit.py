"""Requests and tokens per minute, with the headers that the embedder paces itself by."""

from __future__ import annotations

import openai
import pytest

from local.provider.errors import ApiError
from local.provider.rate_limit import RateLimit, as_duration
from local.provider.server import ModelServer

MODEL = "text-embedding-3-small"


class HandClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_headers_say_what_is_left_and_when_it_is_full_again() -> None:
    """R23: limit, remaining and reset for requests and tokens."""
    limit = RateLimit(requests_per_minute=60, tokens_per_minute=6000, clock=HandClock())

    assert limit.admit(MODEL, 150) == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "6000",
        "x-ratelimit-remaining-tokens": "5850",
        "x-ratelimit-reset-tokens": "1.5s",
    }


def test_spent_tokens_come_back_with_time() -> None:
    """R23: Retry-After is the time after which the same request is admitted."""
    clock = HandClock()
    limit = RateLimit(tokens_per_minute=600, clock=clock)
    limit.admit(MODEL, 600)

    with pytest.raises(ApiError) as refused:
        limit.admit(MODEL, 25)
    assert refused.value.status == 429
    assert refused.value.headers["retry-after"] == "3"
    assert refused.value.headers["retry-after-ms"] == "2500"

    clock.now += 2.5
    assert limit.admit(MODEL, 25)["x-ratelimit-remaining-tokens"] == "0"


def test_refused_request_spends_nothing() -> None:
    """R23: a request refused for its tokens does not use up the requests."""
    limit = RateLimit(requests_per_minute=2, tokens_per_minute=10, clock=HandClock())
    limit.admit(MODEL, 6)

    with pytest.raises(ApiError, match="tokens per min"):
        limit.admit(MODEL, 6)

    assert limit.admit(MODEL, 4)["x-ratelimit-remaining-requests"] == "0"


def test_request_over_the_whole_limit_is_refused_as_too_large() -> None:
    """R10: waiting never helps, so no Retry-After is sent."""
    limit = RateLimit(tokens_per_minute=100, clock=HandClock())

    with pytest.raises(ApiError, match="Request too large") as refused:
        limit.admit(MODEL, 101)

    assert refused.value.headers == {}


def test_sdk_sees_a_rate_limit_error_with_retry_after() -> None:
    """R23: the 429 arrives as the SDK's own exception, with its headers."""
    with (
        ModelServer(requests_per_minute=1) as server,
        openai.OpenAI(base_url=server.url, api_key="any", max_retries=0) as client,
    ):
        first = client.embeddings.with_raw_response.create(model=MODEL, input="a")
        with pytest.raises(openai.RateLimitError) as caught:
            client.embeddings.create(model=MODEL, input="a")

    assert first.headers["x-ratelimit-remaining-requests"] == "0"
    assert caught.value.code == "rate_limit_exceeded"
    assert 0 < int(caught.value.response.headers["retry-after"]) <= 60


def test_without_limits_no_header_is_sent() -> None:
    """R23: some compatible providers send none, and the client must cope."""
    assert RateLimit().admit(MODEL, 10**9) == {}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0ms"), (0.0123, "13ms"), (1, "1s"), (8.64, "8.64s"), (360, "6m0s"), (61.5, "1m1.5s")],
)
def test_times_are_written_as_openai_writes_them(seconds: float, text: str) -> None:
    """R23: the reset headers' own notation."""
    assert as_duration(seconds) == text


def test_limit_below_one_is_refused() -> None:
    """R82: a limit of zero would never admit anything."""
    with pytest.raises(ValueError, match="tokens per minute must be at least 1, not 0"):
        RateLimit(tokens_per_minute=0)
