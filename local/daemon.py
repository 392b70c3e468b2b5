"""The local stack as a program: `up` starts it in the background, `down` ends it.

It writes a file when it is ready, and ends everything that it started.
"""

import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from local.background import STATE, Running
from local.files import write_json
from local.stack import local_stack

LOOK_SECONDS = 1.0


def main() -> int:
    """Run the stack until a signal ends it."""
    folder, vectors = Path(sys.argv[1]), sys.argv[2]
    short_lived = "--short-lived" in sys.argv
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())

    def say(text: str) -> None:
        print(text, flush=True)

    with local_stack(folder, log=say, vectors=vectors, short_lived=short_lived) as stack:
        running = Running(stack.endpoint_url, stack.model_origin)
        state = folder / STATE
        write_json(state, asdict(running))
        # A stack without one of its engines is none: the next `up` brings everything back.
        while not ended.wait(LOOK_SECONDS):
            if stack.ended():
                say(f"ended by itself: {', '.join(stack.ended())}; the whole stack stops")
                break
        state.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
