"""The clock, the telemetry and the event bus in memory."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from functions.core.announcement import EventDetail
from functions.core.metrics import named


class MovableClock:
    """Gives milliseconds since the epoch; stands still until it is moved."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)


class MemoryTelemetry:
    """Keeps events and metrics, for tests to read."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.metrics: Counter[str] = Counter()
        # By their dimensions, too, if they were given.
        self.details: Counter[tuple[str, ...]] = Counter()

    def event(self, name: str, **fields: Any) -> None:
        self.events.append((name, fields))

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Add up; raise, as the functions do, for what core/metrics.py does not name."""
        known = named(metric, tuple(dimensions))
        if dimensions:
            self.details[metric, *dimensions.values()] += int(value)
        if not (dimensions and known.parts_are_apart):
            self.metrics[metric] += int(value)

    def unexpected(self, error: Exception) -> None:
        """Raise: in memory every unexpected error is a defect."""
        raise error


class MemoryAnnouncer:
    """Keeps the accepted events; rejects the next `refuses` ones."""

    def __init__(self) -> None:
        self.events: list[EventDetail] = []
        self.refuses = 0

    def announce(self, details: Sequence[EventDetail]) -> list[int]:
        refused = list(range(min(self.refuses, len(details))))
        self.refuses -= len(refused)
        self.events += details[len(refused) :]
        return refused
