"""How often the provider and the index failed in one run, and whether that opens a breaker."""

from collections import Counter
from dataclasses import replace
from math import ceil

from functions.core.breaker import Breaker, failure_ratio, is_failing, window_start
from functions.core.failure import Failure, Part
from functions.core.ports import Clock
from functions.core.settings import BreakerSettings
from functions.embed.guard.shared_control import SharedControl


class Tally:
    """The counts of one run; a healthy run in a healthy minute writes nothing."""

    def __init__(self, shared: SharedControl, settings: BreakerSettings, clock: Clock) -> None:
        self._shared = shared
        self._settings = settings
        self._clock = clock
        self._successes: Counter[Part] = Counter()
        self._failures: Counter[Part] = Counter()
        # A worker that waits for a timeout makes too few requests to open a breaker by their
        # number: where nothing passes, a slow failure counts as all that would have fitted in.
        self._slot_seconds = settings.window_seconds / settings.least_requests
        self._slots: Counter[Part] = Counter()
        self._last: dict[Part, Failure] = {}

    def passed(self, part: Part) -> None:
        """Count a part that did its work, or refused it for what was in it."""
        self._successes[part] += 1

    def failed(self, part: Part, failure: Failure, *, seconds: float) -> None:
        """Count a part that failed, and how long that took."""
        self._failures[part] += 1
        self._slots[part] += max(1, ceil(seconds / self._slot_seconds))
        self._last[part] = failure

    def excuse(self, part: Part, requests: int) -> None:
        """Count so many failures as passed: what was in them made them fail.

        A text that was throttled may be judged, too, and was never counted.
        """
        excused = min(requests, self._failures[part])
        self._failures[part] -= excused
        self._successes[part] += excused

    @property
    def is_failing(self) -> bool:
        """Tell whether many requests fail: smaller ones and fewer attempts are in place."""
        return any(
            is_failing(self._seen(part), now_ms=self._clock(), settings=self._settings)
            for part in Part
        )

    def share(self) -> None:
        """Add the counts to the control item if any run of this window has seen a failure."""
        for part in Part:
            self._share(part)

    def _share(self, part: Part) -> None:
        successes, failures = self._successes[part], self._counted(part)
        seen = self._seen(part)
        if not successes + failures or not seen.failures:
            return
        standing = self._shared.count(
            part, window_ms=seen.window_ms, successes=successes, failures=failures
        )
        # A run without a failure has no reason to give; one with a failure finds the same ratio.
        if standing is not None and failures and self._is_enough(standing):
            asked, last = standing.successes + standing.failures, self._last[part]
            reason = f"{standing.failures} of {asked} failed, the last one with {last.kind}:"
            self._shared.open(part, standing, f"{reason} {last.message}")

    def _counted(self, part: Part) -> int:
        return self._failures[part] if self._successes[part] else self._slots[part]

    def _is_enough(self, standing: Breaker) -> bool:
        ratio = failure_ratio(standing, now_ms=self._clock(), settings=self._settings)
        return not standing.state.stops_work and ratio >= self._settings.failure_ratio

    def _seen(self, part: Part) -> Breaker:
        """Return the breaker as this run knows it, with its own counts added."""
        breaker = self._shared.known.breaker(part)
        window_ms = window_start(breaker, now_ms=self._clock(), settings=self._settings)
        is_current = breaker.window_ms == window_ms
        return replace(
            breaker,
            window_ms=window_ms,
            successes=self._successes[part] + (breaker.successes if is_current else 0),
            failures=self._counted(part) + (breaker.failures if is_current else 0),
        )
