"""An announcer that remembers what it told."""

from collections.abc import Mapping, Sequence
from typing import Any


class MemoryAnnouncer:
    """Keeps the events it takes; it refuses as many as it is told to."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, Any]] = []
        self.refuses = 0  # so many of the next ones

    def announce(self, endings: Sequence[Mapping[str, Any]]) -> list[int]:
        refused = list(range(min(self.refuses, len(endings))))
        self.refuses -= len(refused)
        self.events += endings[len(refused) :]
        return refused
