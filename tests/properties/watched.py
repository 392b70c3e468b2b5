"""A box around a box: other things may happen between any two calls of a run."""

from collections.abc import Callable
from typing import Any


class Killed(BaseException):
    """The process is gone; nothing of it runs any more."""


class Watched:
    """Lets something happen before and after each of the named calls."""

    def __init__(self, box: Any, calls: set[str], happen: Callable[[], None]) -> None:
        self._box = box
        self._calls = calls
        self._happen = happen

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._box, name)
        if name not in self._calls:
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            self._happen()
            result = value(*args, **kwargs)
            self._happen()
            return result

        return call
