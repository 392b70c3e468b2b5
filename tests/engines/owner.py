"""A process that owns all engines on a folder, for tests that kill or interrupt it."""

import signal
import sys
from pathlib import Path

from local.engines import start_engines


def tell(line: str) -> None:
    """Write a line to the test."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # A shell's background job inherits that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with start_engines(Path(sys.argv[1]), log=tell, short_lived=True):
            tell("all ready")
            sys.stdin.readline()
    except KeyboardInterrupt:
        tell("interrupted")
