"""Requests and tokens per minute, as OpenAI counts them: one bucket each, refilled continuously."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from local.provider.errors import rate_limited, too_large

_SECONDS_PER_MINUTE = 60


@dataclass(slots=True)
class _Bucket:
    limit: int
    left: float
    filled_at: float

    def fill(self, now: float) -> None:
        gained = (now - self.filled_at) * self.limit / _SECONDS_PER_MINUTE
        self.left = min(self.limit, self.left + gained)
        self.filled_at = now

    def seconds_until(self, amount: float) -> float:
        return max(0.0, amount - self.left) * _SECONDS_PER_MINUTE / self.limit


class RateLimit:
    """Admits requests within the limits; the headers say what is left."""

    def __init__(
        self,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with full buckets; a limit of None is neither enforced nor sent."""
        limits = {"requests": requests_per_minute, "tokens": tokens_per_minute}
        for name, limit in limits.items():
            if limit is not None and limit < 1:
                raise ValueError(f"{name} per minute must be at least 1, not {limit}")
        self._clock = clock
        self._buckets = {
            name: _Bucket(limit, limit, clock())
            for name, limit in limits.items()
            if limit is not None
        }
        self._lock = threading.Lock()

    def admit(self, model: str, tokens: int) -> dict[str, str]:
        """Spend one request and its tokens and return the headers, or raise a 429."""
        asked = {"requests": 1, "tokens": tokens}
        with self._lock:
            now = self._clock()
            for name, bucket in self._buckets.items():
                bucket.fill(now)
                if asked[name] > bucket.limit:
                    raise too_large(model, limit=bucket.limit, asked=asked[name])
            for name, bucket in self._buckets.items():
                wait = bucket.seconds_until(asked[name])
                if wait > 0:
                    self._refuse(model, name, asked[name], wait)
            for name, bucket in self._buckets.items():
                bucket.left -= asked[name]
            return self._headers()

    def _refuse(self, model: str, name: str, asked: int, wait: float) -> None:
        bucket = self._buckets[name]
        used = bucket.limit - math.floor(bucket.left)
        detail = (
            f": Limit {bucket.limit}, Used {used}, Requested {asked}."
            f" Please try again in {as_duration(wait)}"
        )
        headers = {
            **self._headers(),
            "retry-after": str(math.ceil(wait)),
            "retry-after-ms": str(math.ceil(wait * 1000)),
        }
        raise rate_limited(model, what=name, detail=detail, headers=headers)

    def _headers(self) -> dict[str, str]:
        headers = {}
        for name, bucket in self._buckets.items():
            headers[f"x-ratelimit-limit-{name}"] = str(bucket.limit)
            headers[f"x-ratelimit-remaining-{name}"] = str(math.floor(bucket.left))
            full_in = bucket.seconds_until(bucket.limit)
            headers[f"x-ratelimit-reset-{name}"] = as_duration(full_in)
        return headers


def as_duration(seconds: float) -> str:
    """Write a time as OpenAI's reset headers do: 12ms, 1.5s, 6m0s."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    rounded = math.ceil(seconds * 1000) / 1000
    minutes, rest = divmod(rounded, _SECONDS_PER_MINUTE)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"
