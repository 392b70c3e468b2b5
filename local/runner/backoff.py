"""How long to wait when there was nothing, or when something failed: longer each time."""

from threading import Event


class Backoff:
    """A wait that doubles up to its limit, and starts anew after a reset."""

    def __init__(self, first_seconds: float, limit_seconds: float) -> None:
        """Start at the first wait."""
        self._first = first_seconds
        self._limit = limit_seconds
        self._next = first_seconds

    def reset(self) -> None:
        """Start anew: there was something, or it worked."""
        self._next = self._first

    def wait(self, stop: Event) -> None:
        """Wait, unless told to stop."""
        stop.wait(self._next)
        self._next = min(2 * self._next, self._limit)
