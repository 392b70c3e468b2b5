"""Rate-limit headers as providers write them."""

import pytest

from functions.adapters.provider_headers import DEFAULT_RESET_SECONDS, allowance
from functions.core.ports import Allowance, RateLimit


def test_headers_of_openai_are_read() -> None:
    """R23: requests and tokens, each with its limit and its reset."""
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-reset-tokens": "6m0s",
    }

    assert allowance(headers) == Allowance(RateLimit(59, 1.0, 60), RateLimit(149984, 360.0, 150000))


def test_absent_headers_are_normal() -> None:
    """R23: many compatible providers send none."""
    assert allowance({"content-type": "application/json"}) == Allowance()


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("20ms", 0.02),
        ("8.64s", 8.64),
        ("1m", 60.0),
        ("2m59.56s", 179.56),
        ("1h2m3s", 3723.0),
        ("1d", 86400.0),
        ("12", 12.0),
        ("0.5", 0.5),
        ("0", 0.0),
        (" 7S ", 7.0),
    ],
)
def test_reset_is_a_duration_or_a_number_of_seconds(reset: str, seconds: float) -> None:
    """R23: each provider has its own spelling."""
    headers = {"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": reset}

    found = allowance(headers).tokens

    assert found is not None
    assert found.reset_seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    "reset",
    ["", "soon", "1700000000", "1700000000000", "-3", "nan", "inf", "5 minutes", "s", "3m-"],
)
def test_reset_that_cannot_be_read_is_a_short_one(reset: str) -> None:
    """R23: what is left is worth knowing all the same."""
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": reset}

    assert allowance(headers).requests == RateLimit(0, DEFAULT_RESET_SECONDS)


@pytest.mark.parametrize("left", ["", "many", "-1", "nan", "inf"])
def test_rest_that_cannot_be_read_is_as_if_absent(left: str) -> None:
    """R23: no limit is no reason to wait."""
    assert allowance({"x-ratelimit-remaining-requests": left}).requests is None
