"""Telemetry that is remembered."""

from collections import Counter
from typing import Any


class MemoryTelemetry:
    """Keeps events and metrics for a look afterwards."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.metrics: Counter[str] = Counter()

    def event(self, name: str, **fields: Any) -> None:
        self.events.append((name, fields))

    def count(self, metric: str, value: float = 1) -> None:
        self.metrics[metric] += int(value)

    def unexpected(self, error: Exception) -> None:
        """Raise: in memory, nothing unforeseen may happen."""
        raise error
