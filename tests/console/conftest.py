"""A console over a stack in memory."""

from collections.abc import Iterator

import pytest

from ops import local_logs
from tests.console.memory_stack import MemoryStack, memory_stack


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStack]:
    """Return a stack with nothing in it, and no log of another one."""
    monkeypatch.setattr(local_logs, "log_files", lambda _: [])
    with memory_stack() as found:
        yield found
