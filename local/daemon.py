"""The local stack as a program: `up` starts it in the background, `down` ends it.

It writes a file when it is ready, and ends everything that it started.
"""

import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from local.background import STATE, Running
from local.engines import EngineError
from local.files import write_json
from local.stack import StackError, local_stack

LOOK_SECONDS = 1.0


def main() -> int:
    """Run the stack until a signal ends it."""
    try:
        _run(Path(sys.argv[1]), sys.argv[2], short_lived="--short-lived" in sys.argv)
    except (EngineError, StackError) as error:
        _say(str(error))
        return 1
    return 0


def _run(folder: Path, vectors: str, *, short_lived: bool) -> None:
    ready, ended = threading.Event(), threading.Event()

    def end(*_: object) -> None:
        is_first = not ended.is_set()
        ended.set()
        # The start of an engine takes long, and is not waited for.
        if is_first and not ready.is_set():
            _say("stopped while it was starting")
            raise SystemExit(1)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    with local_stack(folder, log=_say, vectors=vectors, short_lived=short_lived) as stack:
        ready.set()
        running = Running(stack.endpoint_url, stack.model_origin)
        state = folder / STATE
        write_json(state, asdict(running))
        # A stack without one of its engines is none: the next `up` brings everything back.
        while not ended.wait(LOOK_SECONDS):
            if stack.ended():
                _say(f"ended by itself: {', '.join(stack.ended())}; the whole stack stops")
                break
        state.unlink(missing_ok=True)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
