"""A worker's view of the control item. Where it cannot be read or written, the work goes on.

Only what costs money does not: a request that cannot be reserved is not sent.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from functions.core.breaker import Breaker, Timing, log_transition, opened
from functions.core.budget import Caps, Cost, Spent
from functions.core.control import Control, Cooldown, log_unreadable
from functions.core.failure import FailureError, Part
from functions.core.ports import Clock, ControlStore, Telemetry
from functions.core.settings import TargetSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

FRESH_MS = 2_000
REASON_CHARACTERS = 300


class SharedControl:
    """Reads the item at most every two seconds; logs once in each run that it is unreachable."""

    def __init__(
        self,
        target: TargetSettings,
        store: ControlStore,
        telemetry: Telemetry,
        clock: Clock,
        jitter: Callable[[], float],
    ) -> None:
        self._target = target
        self._store = store
        self._telemetry = telemetry
        self._clock = clock
        self._jitter = jitter
        self._read_ms: int | None = None
        self._is_logged = False
        self.known = Control()

    def begin_run(self) -> None:
        """Log it again if the item cannot be reached."""
        self._is_logged = False

    def now(self) -> Control:
        """Return the item, read anew if it is old; an unreadable one stops no work."""
        now_ms = self._clock()
        if self._read_ms is None or not 0 <= now_ms - self._read_ms < FRESH_MS:
            known = self.known
            # This worker's cooldown stays: without it a throttled worker would ask at once.
            self.known = Control(cooldown=known.cooldown)
            with self._reaching():
                self.known = self._store.read(self._target.name)
            self._read_ms = now_ms
        return self.known

    def forget(self) -> None:
        """Read anew next time."""
        self._read_ms = None

    def cool(self, *, seconds: float) -> None:
        """Let no worker ask for so long."""
        after = self.known.cooldown.throttles
        until_ms = self._clock() + round(seconds * 1000)
        cooldown = Cooldown(until_ms, after + 1)
        with self._reaching():
            cooldown = self._store.cool(self._target.name, until_ms=until_ms, after=after)
        self.known = replace(self.known, cooldown=cooldown)

    def claim(self, *, seconds: float) -> bool:
        """Be the one worker that asks after a cooldown; return whether, True if it is unknown."""
        now_ms = self._clock()
        with self._reaching():
            return self._store.claim(
                self._target.name, now_ms=now_ms, until_ms=now_ms + round(seconds * 1000)
            )
        return True

    def warm(self) -> None:
        """End the cooldown."""
        with self._reaching():
            self._store.warm(self._target.name, after=self.known.cooldown.throttles)
        self.known = replace(self.known, cooldown=Cooldown())
        self._telemetry.event("cooldown_ended", target=self._target.name)

    def reserve(self, cost: Cost, caps: Caps) -> Spent | None:
        """Count the cost of a request, if the caps allow it; raise if the item cannot be written.

        Return what is spent then.
        """
        spent = self._store.reserve(
            self._target.name, self.known.spent, cost, caps, now_ms=self._clock()
        )
        if spent is not None:
            self.known = replace(self.known, spent=spent)
        return spent

    def settle(self, reserved: Spent, change: Cost) -> None:
        """Add the difference to a reservation; where that fails, the estimate stays counted."""
        with self._reaching():
            self._store.settle(self._target.name, reserved, change)
            self.known = replace(self.known, spent=self.known.spent.plus(change))

    def count(self, part: Part, *, window_ms: int, successes: int, failures: int) -> Breaker | None:
        """Add to the counts of a window; return the breaker, if it can be reached."""
        with self._reaching():
            standing = self._store.count(
                self._target.name,
                part,
                window_ms=window_ms,
                successes=successes,
                failures=failures,
            )
            # It may have been opened meanwhile: the next run of this worker sees that.
            self.known = self.known.with_breaker(part, standing)
            return standing
        return None

    def open(self, part: Part, before: Breaker, reason: str) -> None:
        """Open a breaker, unless another worker or a person was faster."""
        at = Timing(self._clock(), self._target.breaker, self._jitter())
        after = opened(before, at, reason=reason[:REASON_CHARACTERS])
        with self._reaching():
            if self._store.swap(self._target.name, part, before, after):
                log_transition(self._telemetry, self._target.name, part, after)
        self.forget()

    @contextmanager
    def _reaching(self) -> "Iterator[None]":
        try:
            yield
        except FailureError as error:
            if not self._is_logged:
                self._is_logged = True
                log_unreadable(self._telemetry, self._target.name, error)
