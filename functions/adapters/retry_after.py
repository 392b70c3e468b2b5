"""When a provider wants to be asked again: milliseconds, seconds or a date, as each one likes."""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from math import isfinite


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait; None where the headers do not say, or not in a known form."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after", "")
    seconds = _number(given)
    return _until(given) if seconds is None else seconds


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if isfinite(value) else None


def _until(date: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
