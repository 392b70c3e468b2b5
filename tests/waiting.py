"""How tests wait: on a condition, with a limit."""

import time
from collections.abc import Callable

LIMIT_SECONDS = 90.0
# From one look to the next: short at first, then longer, as each may ask an engine.
FIRST_LOOK_SECONDS = 0.02
LONGEST_LOOK_SECONDS = 0.2


def until(condition: Callable[[], object], what: str, seconds: float = LIMIT_SECONDS) -> None:
    """Wait until the condition holds, and fail with what was waited for if it does not."""
    deadline = time.monotonic() + seconds
    pause = FIRST_LOOK_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST_LOOK_SECONDS)
