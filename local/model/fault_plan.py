"""The faults in force, changed while the server runs: decides which of them a request meets."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local.model.faults import Fault, FaultKind

if TYPE_CHECKING:
    from local.model.embeddings_request import EmbeddingsRequest


@dataclass(slots=True)
class _Planned:
    fault: Fault
    chance: random.Random
    fired: int = 0
    removed: threading.Event = field(default_factory=threading.Event)

    def meets(self, request: EmbeddingsRequest) -> bool:
        fault = self.fault
        if fault.requests is not None and self.fired >= fault.requests:
            return False
        return _concerns(fault, request) and self.chance.random() < fault.share


@dataclass(frozen=True, slots=True)
class Met:
    """What one request meets: a delay, and at most one fault with the event of its removal."""

    delay_seconds: float = 0.0
    fault: Fault | None = None
    removed: threading.Event = field(default_factory=threading.Event)


class FaultPlan:
    """A list of faults; the first that a request meets decides, latency is added to it."""

    def __init__(self) -> None:
        """Start with nothing planned."""
        self._planned: list[_Planned] = []
        self._lock = threading.Lock()

    def replace(self, *faults: Fault) -> None:
        """Put these faults in force instead of all others; requests that hang are let go."""
        planned = [_Planned(fault, random.Random(fault.seed)) for fault in faults]
        with self._lock:
            before, self._planned = self._planned, planned
        for old in before:
            old.removed.set()

    def meet(self, request: EmbeddingsRequest) -> Met:
        """Return what this request meets, and count it."""
        delay = 0.0
        with self._lock:
            for planned in self._planned:
                if not planned.meets(request):
                    continue
                planned.fired += 1
                if planned.fault.kind is not FaultKind.LATENCY:
                    return Met(delay, planned.fault, planned.removed)
                delay += planned.fault.seconds or 0.0
        return Met(delay)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the faults in force, each with how often it was met."""
        with self._lock:
            return [
                {**planned.fault.as_json(), "fired": planned.fired} for planned in self._planned
            ]


def _concerns(fault: Fault, request: EmbeddingsRequest) -> bool:
    if fault.model is not None and fault.model != request.model:
        return False
    if fault.kind is FaultKind.TOO_LARGE:
        return request.tokens > fault.tokens
    if fault.kind is FaultKind.POISON and fault.marker is not None:
        return any(fault.marker in text for text in request.inputs)
    return True
