"""The control items, event source mappings and probes of the breaker, in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from functions.core.breaker import Breaker
from functions.core.budget import Caps, Cost, Raised, Spent
from functions.core.control import Control, Cooldown
from functions.core.failure import Failure, FailureError, FailureKind, Part
from functions.core.ports import Clock


class MemoryControl:
    """Changes one value at a time, as the DynamoDB one does."""

    def __init__(self) -> None:
        self.items: dict[str, Control] = {}
        self.is_down = False

    def read(self, target: str) -> Control:
        return self.standing(target)

    def standing(self, target: str) -> Control:
        """Return the item as every write compares it."""
        if self.is_down:
            message = "reading the control item: the store is down"
            raise FailureError(Failure(FailureKind.STORE_UNAVAILABLE, message))
        return self.items.get(target, Control())

    def count(
        self, target: str, part: Part, *, window_ms: int, successes: int, failures: int
    ) -> Breaker:
        breaker = self.standing(target).breaker(part)
        if window_ms > breaker.window_ms:
            breaker = replace(breaker, window_ms=window_ms, successes=0, failures=0)
        if window_ms == breaker.window_ms:
            breaker = replace(
                breaker,
                successes=breaker.successes + successes,
                failures=breaker.failures + failures,
            )
        self._put(target, part, breaker)
        return breaker

    def swap(self, target: str, part: Part, before: Breaker, after: Breaker) -> bool:
        standing = self.standing(target).breaker(part)
        if _identity(standing) != _identity(before):
            return False
        counted = replace(
            after,
            window_ms=standing.window_ms,
            successes=standing.successes,
            failures=standing.failures,
        )
        self._put(target, part, counted)
        return True

    def cool(self, target: str, *, until_ms: int, after: int) -> Cooldown:
        standing = self.standing(target).cooldown
        cooldown = standing
        if standing.throttles in (0, after) and standing.until_ms < until_ms:
            cooldown = Cooldown(until_ms, standing.throttles + 1)
        elif standing.until_ms < until_ms:
            cooldown = replace(standing, until_ms=until_ms)
        self.items[target] = replace(self.standing(target), cooldown=cooldown)
        return cooldown

    def claim(self, target: str, *, now_ms: int, until_ms: int) -> bool:
        standing = self.standing(target).cooldown
        is_due = standing.throttles > 0 and standing.until_ms <= now_ms
        if not is_due or standing.claimed_until_ms > now_ms:
            return False
        claimed = replace(standing, claimed_until_ms=until_ms)
        self.items[target] = replace(self.standing(target), cooldown=claimed)
        return True

    def warm(self, target: str, *, after: int) -> None:
        control = self.standing(target)
        if control.cooldown.throttles == after:
            self.items[target] = replace(control, cooldown=Cooldown())

    def reserve(
        self,
        target: str,
        before: Spent,  # noqa: ARG002
        cost: Cost,
        caps: Caps,
        *,
        now_ms: int,
    ) -> Spent | None:
        control = self.standing(target)
        spent = control.spent.at(now_ms).plus(cost)
        if not caps.allow(spent):
            return None
        self.items[target] = replace(control, spent=spent)
        return spent

    def settle(self, target: str, reserved: Spent, change: Cost) -> None:
        control = self.standing(target)
        if reserved.month != control.spent.month:
            return
        tokens = change.tokens if reserved.day == control.spent.day else 0
        spent = control.spent.plus(replace(change, tokens=tokens))
        self.items[target] = replace(control, spent=spent)

    def raise_budget(self, target: str, before: Raised, after: Raised) -> bool:
        control = self.standing(target)
        if control.raised.since_ms != before.since_ms:
            return False
        self.items[target] = replace(control, raised=after)
        return True

    def note_index(self, target: str, *, before: str, after: str) -> bool:
        control = self.standing(target)
        if control.index_uuid != before:
            return False
        self.items[target] = replace(control, index_uuid=after)
        return True

    def _put(self, target: str, part: Part, breaker: Breaker) -> None:
        self.items[target] = self.standing(target).with_breaker(part, breaker)


def _identity(breaker: Breaker) -> tuple[object, ...]:
    # Every change of a breaker changes one of these.
    return breaker.state, breaker.since_ms, breaker.due_ms


class MemoryMappings:
    """Each mapping starts enabled; a change takes `settle_seconds`, as on AWS."""

    def __init__(self, clock: Clock = lambda: 0, *, settle_seconds: float = 0) -> None:
        self._clock = clock
        self._settle_ms = round(settle_seconds * 1000)
        self._off: set[str] = set()
        self._settled_ms: dict[str, int] = {}

    @property
    def disabled(self) -> set[str]:
        """Return the mappings that do not poll; one that is being disabled still polls."""
        known = self._off | set(self._settled_ms)
        return {name for name in known if self.state(name) in ("Disabled", "Enabling")}

    def state(self, mapping: str) -> str:
        enabled = mapping not in self._off
        if self._is_moving(mapping):
            return "Enabling" if enabled else "Disabling"
        return "Enabled" if enabled else "Disabled"

    def switch(self, mapping: str, *, enabled: bool) -> bool:
        if self._is_moving(mapping):
            return False
        (self._off.discard if enabled else self._off.add)(mapping)
        self._settled_ms[mapping] = self._clock() + self._settle_ms
        return True

    def _is_moving(self, mapping: str) -> bool:
        return self._settled_ms.get(mapping, 0) > self._clock()


class MemoryProber:
    """Calls the probe of each embed step directly."""

    def __init__(self, steps: Mapping[str, Callable[[Sequence[str]], Mapping[str, str | None]]]):
        self._steps = steps

    def probe(self, function: str, parts: Sequence[Part]) -> dict[Part, str | None] | None:
        answer = self._steps[function](parts)
        return {part: answer[part] for part in parts}
