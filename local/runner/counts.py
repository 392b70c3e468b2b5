"""What a mapping has done so far."""

import threading
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class MappingCounts:
    """Batches and what became of their messages or records."""

    batches: int = 0
    messages: int = 0
    failures: int = 0  # messages or records reported or lost with their run; they come again
    errors: int = 0  # invocations that ended in an error
    throttles: int = 0
    discarded: int = 0  # records given up and kept by the on-failure destination


class Counter:
    """The counts of one mapping, added up by many threads."""

    def __init__(self) -> None:
        """Start at zero."""
        self._lock = threading.Lock()
        self._counts = MappingCounts()

    def add(self, **more: int) -> None:
        """Add to some of the counts."""
        with self._lock:
            known = {name: getattr(self._counts, name) + count for name, count in more.items()}
            self._counts = replace(self._counts, **known)

    @property
    def counts(self) -> MappingCounts:
        """Return the counts so far."""
        return self._counts
