"""Vectors of questions: asked for once, and not while the provider's breaker is open."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from functions.core.control import Control
from functions.core.entry import Vector
from functions.core.failure import FailureError
from functions.core.ports import Clock, Embedder, Telemetry
from functions.core.settings import TargetSettings

# Of 3,072 dimensions: 12 MB.
KEPT_VECTORS = 1000
# A person waits for the answer; after this it comes by text alone.
EMBED_SECONDS = 10.0
# An open breaker is noticed so late, and so late that it is closed.
STATE_MS = 5000


@dataclass
class QueryVectors:
    """Embeds questions in their role, and keeps the last vectors."""

    embedder_of: Callable[[TargetSettings], Embedder]
    kept: OrderedDict[tuple[str, str, int, str], Vector] = field(default_factory=OrderedDict)

    def __call__(self, target: TargetSettings, words: str) -> Vector:
        key = (target.name, target.model, target.dimensions, words)
        if key in self.kept:
            self.kept.move_to_end(key)
            return self.kept[key]
        text = target.query_prefix + words
        answer = self.embedder_of(target).embed([text], timeout_seconds=EMBED_SECONDS)
        self.kept[key] = answer.vectors[0]
        if len(self.kept) > KEPT_VECTORS:
            self.kept.popitem(last=False)
        return self.kept[key]


@dataclass
class ProviderState:
    """Tells why a provider is not asked, as its breaker has it; looks now and then."""

    read: Callable[[str], Control]  # the control item of a target
    telemetry: Telemetry
    clock: Clock
    seen: dict[str, tuple[int, str | None]] = field(default_factory=dict)

    def __call__(self, target: TargetSettings) -> str | None:
        now_ms = self.clock()
        read_ms, reason = self.seen.get(target.name, (-STATE_MS, None))
        if now_ms - read_ms >= STATE_MS:
            reason = self._read(target)
            self.seen[target.name] = (now_ms, reason)
        return reason

    def _read(self, target: TargetSettings) -> str | None:
        try:
            breaker = self.read(target.name).provider
        except FailureError as error:
            # Without the state the provider is asked: if it is down, it fails.
            self.telemetry.event("control_unreadable", target=target.name, failure=str(error))
            return None
        return f"the provider's breaker is {breaker.state}" if breaker.state.stops_work else None
