"""What a provider's headers say: how much it still takes, and when it may be asked again.

OpenAI writes "6m0s" and "20ms", others plain seconds, a date, nothing or something else: what
cannot be read is as if it were absent.
"""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from math import isfinite

from functions.core.control import LONGEST_COOLDOWN_SECONDS
from functions.core.ports import Allowance, RateLimit

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
PIECE = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
# Above a day it is no duration: some providers send a time there.
LONGEST_SECONDS = 86400.0
# Azure sends what is left, but not until when: it counts requests by ten seconds.
DEFAULT_RESET_SECONDS = 10.0


def allowance(headers: Mapping[str, str]) -> Allowance:
    """Read the limits on requests and on tokens."""
    return Allowance(_rate_limit(headers, "requests"), _rate_limit(headers, "tokens"))


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait; None where the headers do not say, or not in a known form."""
    seconds = _asked_seconds(headers)
    # A date far away must not park a document for years.
    return None if seconds is None else min(max(0.0, seconds), LONGEST_COOLDOWN_SECONDS)


def _asked_seconds(headers: Mapping[str, str]) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after", "")
    seconds = _number(given)
    return _until(given) if seconds is None else seconds


def _rate_limit(headers: Mapping[str, str], what: str) -> RateLimit | None:
    left = _count(headers.get(f"x-ratelimit-remaining-{what}", ""))
    if left is None:
        return None
    reset = _seconds(headers.get(f"x-ratelimit-reset-{what}", ""))
    return RateLimit(
        left,
        DEFAULT_RESET_SECONDS if reset is None else reset,
        _count(headers.get(f"x-ratelimit-limit-{what}", "")),
    )


def _count(text: str) -> int | None:
    number = _number(text)
    # Some answer -1 where there is no limit.
    return None if number is None or number < 0 else int(number)


def _seconds(text: str) -> float | None:
    given = text.strip().lower()
    seconds = _number(given)
    if seconds is None and DURATION.fullmatch(given):
        seconds = sum(float(number) * SECONDS[unit] for number, unit in PIECE.findall(given))
    if seconds is None or not 0 <= seconds <= LONGEST_SECONDS:
        return None
    return seconds


def _until(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
