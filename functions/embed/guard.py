"""What stands before the provider and the index. Nothing is asked that would only be refused.

One worker asks after a cooldown, on behalf of all; a breaker that is open is waited out inside
the run, which alone slows the polling down.
"""

from collections.abc import Callable
from dataclasses import replace

from functions.core.control import cooldown_seconds
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.ports import Clock, ControlStore, Embedded, Telemetry
from functions.core.settings import TargetSettings
from functions.embed.pacing import Pace, ready_ms
from functions.embed.run_time import SHORTEST_REQUEST_SECONDS
from functions.embed.shared_control import SharedControl
from functions.embed.tally import Tally

# How often to look whether a breaker has closed, or whether the one that asks knows more.
LOOK_SECONDS = 1.0
# Who waited for the same moment wakes up within this time after it, not together.
SPREAD_SECONDS = 1.0
# The claim outlives its request, so a crashed worker releases it by expiry.
CLAIM_MARGIN_SECONDS = 5.0


class Guard:
    """The breakers, the cooldown and the pace of one worker's runs."""

    def __init__(
        self,
        target: TargetSettings,
        control: ControlStore,
        telemetry: Telemetry,
        clock: Clock,
        wait: Callable[[float], None],
        jitter: Callable[[], float],
    ) -> None:
        self._target = target
        self._shared = SharedControl(target, control, telemetry, clock, jitter)
        self._tally = Tally(self._shared, target.breaker, clock)
        self._telemetry = telemetry
        self._clock = clock
        self._wait = wait
        self._jitter = jitter
        self._pace = Pace()
        self._claimed = False
        self.begin(lambda: 0.0)

    def begin(self, seconds_left: Callable[[], float]) -> None:
        """Start a run that may wait and ask as long as seconds are left."""
        self._shared.begin()
        self._tally.begin()
        self._seconds_left = seconds_left
        # A short run is divided as a long one is.
        self._shortest_seconds = min(SHORTEST_REQUEST_SECONDS, max(seconds_left(), 0.0) / 8)
        self._waited_ms = 0

    def end(self) -> None:
        """Share what the run has seen, if there is anything to tell."""
        self._tally.end()
        if self._waited_ms:
            self._telemetry.count("GuardWaitMilliseconds", self._waited_ms)

    @property
    def is_failing(self) -> bool:
        """Tell whether many requests fail: smaller packs and fewer attempts are in place."""
        return self._tally.is_failing

    def enter_index(self) -> None:
        """Wait until the index may be asked, or raise."""
        self._wait_for_breaker(Part.INDEX, least_seconds=0.0)

    def enter_provider(self, tokens: int, timeout_seconds: float) -> float:
        """Wait until a request may be sent, or raise; return the timeout that is left for it."""
        while True:
            self._wait_for_breaker(Part.PROVIDER, least_seconds=self._shortest_seconds)
            if not self._is_paced(tokens) and self._may_ask(timeout_seconds):
                self._pace = replace(self._pace, asked_ms=self._clock(), tokens=tokens)
                return min(timeout_seconds, max(self._seconds_left(), self._shortest_seconds))

    def throttled(self, failure: Failure) -> None:
        """Let all workers wait."""
        throttles = self._shared.known.cooldown.throttles
        seconds = cooldown_seconds(throttles, failure.retry_after_seconds)
        self._shared.cool(seconds=seconds)
        self._claimed = False
        self._telemetry.count("ProviderThrottled")
        self._telemetry.event(
            "cooldown_started", target=self._target.name, seconds=seconds, reason=failure.message
        )

    def answered(self, answer: Embedded) -> None:
        """Note a request that passed."""
        self._pace = replace(
            self._pace,
            tokens=answer.tokens,
            answered_ms=self._clock(),
            allowance=answer.allowance,
        )
        self._warm()
        self.passed(Part.PROVIDER)

    def failed(self, part: Part, failure: Failure) -> None:
        """Note a request that failed, other than by throttling."""
        if part is Part.PROVIDER:
            # Whatever it was, the cooldown is over: the rest is for the breaker.
            self._warm()
        if failure.kind is FailureKind.CONFIGURATION:
            # No document will do better: nobody waits for the end of the run, nor for others.
            breaker = self._shared.now().breaker(part)
            if not breaker.state.stops_work:
                self._shared.open(part, breaker, failure.message)
        elif failure.kind.breaker is part:
            self._tally.failed(part, failure)
        elif failure.kind.is_permanent:
            self.passed(part)

    def passed(self, part: Part) -> None:
        """Note a part that did its work, or refused it for what was in it."""
        self._tally.passed(part)

    def _wait_for_breaker(self, part: Part, *, least_seconds: float) -> None:
        while (breaker := self._shared.now().breaker(part)).state.stops_work:
            left = (breaker.due_ms - self._clock()) / 1000
            self._sleep(
                LOOK_SECONDS + SPREAD_SECONDS * self._jitter(),
                Failure(
                    FailureKind.PAUSED,
                    f"the {part}'s breaker is {breaker.state}: {breaker.reason}",
                    left if left > 0 else None,
                ),
                least_seconds=least_seconds,
            )

    def _is_paced(self, tokens: int) -> bool:
        """Wait for the provider's allowance; return whether it was necessary."""
        left = (ready_ms(self._pace, tokens, self._target) - self._clock()) / 1000
        if left <= 0:
            return False
        message = "what the provider takes in a minute is used up"
        self._sleep(
            left * (1 + 0.1 * self._jitter()),
            Failure(FailureKind.THROTTLED, message, left),
            least_seconds=self._shortest_seconds,
        )
        return True

    def _may_ask(self, timeout_seconds: float) -> bool:
        """Return True if there is no cooldown or this worker holds the claim; else wait."""
        cooldown = self._shared.now().cooldown
        now_ms = self._clock()
        if not cooldown.throttles:
            return True
        due_ms = max(cooldown.until_ms, cooldown.claimed_until_ms)
        if due_ms <= now_ms and self._shared.claim(seconds=timeout_seconds + CLAIM_MARGIN_SECONDS):
            self._claimed = True
            return True
        left = (cooldown.until_ms - now_ms) / 1000
        # Nobody can end it before its time; after it, the one that asks may at any moment.
        seconds = left if left > 0 else LOOK_SECONDS
        self._sleep(
            seconds + SPREAD_SECONDS * self._jitter(),
            Failure(
                FailureKind.THROTTLED,
                f"throttled {cooldown.throttles} times in a row: all workers wait",
                max((due_ms - now_ms) / 1000, SPREAD_SECONDS),
            ),
            least_seconds=self._shortest_seconds,
        )
        self._shared.forget()
        return False

    def _sleep(self, seconds: float, failure: Failure, *, least_seconds: float) -> None:
        """Wait as long as the run's time allows; raise the failure when it is used up."""
        spare = self._seconds_left() - least_seconds
        if spare <= 0:
            raise FailureError(failure)
        # A whole millisecond at least: a clock that does not move would never end a wait.
        waited = max(min(seconds, spare), 0.001)
        self._wait(waited)
        self._waited_ms += round(waited * 1000)

    def _warm(self) -> None:
        # Only who asked on behalf of all: a request from before the cooldown proves nothing.
        if self._claimed:
            self._shared.warm()
            self._claimed = False
