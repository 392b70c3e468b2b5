"""Something may happen before and after every call that a function makes to another system."""

from collections.abc import Callable
from typing import Any


class Killed(BaseException):
    """The process of a function is gone; nothing of it runs any more."""


class Interrupted:
    """Wraps an adapter: calls `happen` before and after each of the named methods."""

    def __init__(self, adapter: Any, methods: set[str], happen: Callable[[], None]) -> None:
        self._adapter = adapter
        self._methods = methods
        self._happen = happen

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._adapter, name)
        if name not in self._methods:
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            self._happen()
            result = value(*args, **kwargs)
            self._happen()
            return result

        return call
