"""When a worker may ask the provider and the index: nothing is sent that would only be refused.

After a cooldown one worker asks for all of them. An open breaker is waited out inside the run,
which by itself slows the polling down.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from functions.core.control import cooldown_seconds
from functions.core.failure import Failure, FailureKind, Part
from functions.core.ports import Clock, ControlStore, Embedded, ProviderLimits, Telemetry
from functions.core.settings import TargetSettings
from functions.embed.chunking import count_tokens
from functions.embed.guard.pacing import Pace, not_ahead, ready_ms
from functions.embed.guard.shared_control import SharedControl
from functions.embed.guard.spending import Spending
from functions.embed.guard.tally import Tally
from functions.embed.guard.waiting import Waiting
from functions.embed.run_time import SecondsLeft

# How often to look whether a breaker has closed, or whether the worker with the claim is done.
LOOK_SECONDS = 1.0
# Workers that waited for the same moment wake up within this time after it, not together.
SPREAD_SECONDS = 1.0
# The claim outlives its request, so a crashed worker releases it by expiry.
CLAIM_MARGIN_SECONDS = 5.0


class Guard:
    """The breakers, the cooldown, the pace and the budget of one worker's runs."""

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
        self._telemetry = telemetry
        self._clock = clock
        self._wait = wait
        self._jitter = jitter
        self._pace = Pace()
        self._has_claim = False
        count = partial(count_tokens, most=target.chunk_tokens)
        self.spending = Spending(target, self._shared, telemetry, clock, count)
        self._begin(lambda: 0.0)

    @contextmanager
    def run(self, seconds_left: SecondsLeft, *, is_live: bool = True) -> Iterator[None]:
        """Guard one run, which may wait and ask as long as seconds are left."""
        self._begin(seconds_left)
        self.spending.begin_run(is_live=is_live)
        try:
            yield
        finally:
            self.tally.share()
            if self._waiting.waited_ms:
                self._telemetry.count("GuardWaitMilliseconds", self._waiting.waited_ms)

    def _begin(self, seconds_left: SecondsLeft) -> None:
        self._shared.begin_run()
        self._index_uuid: str | None = None
        self.tally = Tally(self._shared, self._target.breaker, self._clock)
        self._waiting = Waiting(seconds_left, self._wait)

    def enter_index(self) -> None:
        """Wait until the index may be asked, or raise."""
        self._wait_for_breaker(Part.INDEX, least_seconds=0.0)
        if self._index_uuid is None:
            self._index_uuid = self._shared.known.index_uuid

    @property
    def index_uuid(self) -> str:
        """Return the UUID of the index, as it was known before this run's first request to it.

        So what is written to a newer index meanwhile only counts as written to an older one.
        """
        return self._index_uuid or ""

    def enter_provider(self, tokens: int, timeout_seconds: float) -> float:
        """Wait until a request may be sent, or raise; return the timeout that is left for it."""
        shortest = self._waiting.shortest_seconds
        while True:
            self._wait_for_breaker(Part.PROVIDER, least_seconds=shortest)
            if not self._is_paced(tokens) and self._may_ask(timeout_seconds):
                self._pace = replace(self._pace, asked_ms=self._clock(), tokens=tokens)
                return min(timeout_seconds, max(self._waiting.seconds_left(), shortest))

    def limits(self, limits: ProviderLimits) -> ProviderLimits:
        """Return the limits of a request, lower if the budget or the provider's headers are."""
        most = self.spending.at_most(limits.tokens_per_request)
        rate = self._pace.allowance.tokens
        # One below a single chunk is no limit of a request.
        if rate is not None and rate.limit is not None and rate.limit >= self._target.chunk_tokens:
            most = min(most, rate.limit)
        return replace(limits, tokens_per_request=most)

    def throttled(self, failure: Failure) -> None:
        """Let all workers wait."""
        self._telemetry.count("ProviderThrottled")
        self._cool(failure)

    def _cool(self, failure: Failure) -> None:
        throttles = self._shared.known.cooldown.throttles
        seconds = cooldown_seconds(throttles, failure.retry_after_seconds)
        self._shared.cool(seconds=seconds)
        self._has_claim = False
        self._telemetry.event(
            "cooldown_started", target=self._target.name, seconds=seconds, reason=failure.message
        )

    def answered(self, answer: Embedded) -> None:
        """Note a request that was answered; with no vector of use in it, it has failed."""
        self._pace = replace(
            self._pace,
            tokens=answer.tokens,
            answered_ms=self._clock(),
            allowance=answer.allowance,
            requests=answer.requests,
        )
        wrong = [result for result in answer.results if isinstance(result, Failure)]
        if len(wrong) == len(answer.results):
            self.failed(Part.PROVIDER, wrong[0])
            return
        self._end_cooldown()
        self.tally.passed(Part.PROVIDER)
        for failure in wrong:
            # Of several requests for one answer.
            if failure.kind is FailureKind.THROTTLED:
                self.throttled(failure)
                return

    def failed(self, part: Part, failure: Failure) -> None:
        """Note a request that failed, other than by throttling."""
        if part is Part.PROVIDER:
            # Whatever failed, it was not throttled: from here on it is for the breaker.
            self._end_cooldown()
            if failure.retry_after_seconds:
                self._cool(failure)
        if failure.kind is FailureKind.CONFIGURATION:
            # Every document would fail alike: open it now, not at the end of the run.
            breaker = self._shared.now().breaker(part)
            if not breaker.state.stops_work:
                self._shared.open(part, breaker, failure.message)
        elif failure.kind.traits.breaker is part:
            is_provider = part is Part.PROVIDER
            asked_ms = self._pace.asked_ms if is_provider else self._clock()
            self.tally.failed(part, failure, seconds=(self._clock() - asked_ms) / 1000)
        elif failure.kind.is_permanent:
            self.tally.passed(part)

    def _wait_for_breaker(self, part: Part, *, least_seconds: float) -> None:
        while (breaker := self._shared.now().breaker(part)).state.stops_work:
            left = (breaker.due_ms - self._clock()) / 1000
            self._waiting.sleep(
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
        self._pace = not_ahead(self._pace, self._clock())
        left = (ready_ms(self._pace, tokens, self._target) - self._clock()) / 1000
        if left <= 0:
            return False
        message = "what the provider takes in a minute is used up"
        self._waiting.sleep(
            left * (1 + 0.1 * self._jitter()),
            Failure(FailureKind.THROTTLED, message, left, is_asked=False),
            least_seconds=self._waiting.shortest_seconds,
        )
        return True

    def _may_ask(self, timeout_seconds: float) -> bool:
        """Return True if there is no cooldown or we hold the claim; else wait, return False."""
        cooldown = self._shared.now().cooldown
        now_ms = self._clock()
        if not cooldown.throttles:
            return True
        due_ms = max(cooldown.until_ms, cooldown.claimed_until_ms)
        if due_ms <= now_ms and self._shared.claim(seconds=timeout_seconds + CLAIM_MARGIN_SECONDS):
            self._has_claim = True
            return True
        left = (cooldown.until_ms - now_ms) / 1000
        # It never ends before its time; after it, the worker with the claim may end it any moment.
        seconds = left if left > 0 else LOOK_SECONDS
        self._waiting.sleep(
            seconds + SPREAD_SECONDS * self._jitter(),
            Failure(
                FailureKind.THROTTLED,
                f"throttled {cooldown.throttles} times in a row: all workers wait",
                max((due_ms - now_ms) / 1000, SPREAD_SECONDS),
                is_asked=False,
            ),
            least_seconds=self._waiting.shortest_seconds,
        )
        self._shared.forget()
        return False

    def _end_cooldown(self) -> None:
        # Only the worker with the claim: a request from before the cooldown proves nothing.
        if self._has_claim:
            self._shared.warm()
            self._has_claim = False
