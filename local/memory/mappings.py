"""Event source mappings, and embed's answers to probes, in memory."""

from collections.abc import Callable, Mapping, Sequence

from functions.core.control import Part
from functions.core.ports import Clock


class MemoryMappings:
    """All are on until they are switched off; a change takes its time, as on AWS."""

    def __init__(self, clock: Clock = lambda: 0, *, settle_seconds: float = 0) -> None:
        self._clock = clock
        self._settle_ms = round(settle_seconds * 1000)
        self._off: set[str] = set()
        self._settled_ms: dict[str, int] = {}

    @property
    def disabled(self) -> set[str]:
        """Return the mappings that do not poll: one that goes off does until it has settled."""
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
    """Asks each embed step directly."""

    def __init__(self, steps: Mapping[str, Callable[[Sequence[str]], Mapping[str, str | None]]]):
        self._steps = steps

    def probe(self, function: str, parts: Sequence[Part]) -> dict[Part, str | None] | None:
        answer = self._steps[function](parts)
        return {part: answer[part] for part in parts}
