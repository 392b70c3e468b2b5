"""How tests wait: on a condition, with a limit."""

import time
from collections.abc import Callable

LIMIT_SECONDS = 90.0
LOOK_SECONDS = 0.02


def until(condition: Callable[[], object], what: str, seconds: float = LIMIT_SECONDS) -> None:
    """Wait until the condition holds, and fail with what was waited for if it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(LOOK_SECONDS)
