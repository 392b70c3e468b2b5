"""The local stack in the background: `up` starts this program, `down` ends it.

It tells that it is ready by a file, and takes everything with it when it ends.
"""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from local.engines import find_running, stop_running
from local.recovery import recover
from local.runner.place import CHECKOUT
from local.stack import STACK, local_stack

FOLDER = CHECKOUT / ".local"
START_SECONDS = 600.0
LOOK_SECONDS = 0.1
ENGINES = "engines"
STATE = "stack.json"
LOG = "up.log"


@dataclass(frozen=True)
class Running:
    """Where a running stack is reached."""

    endpoint_url: str
    model_origin: str
    stack: str = STACK


class NotStartedError(Exception):
    """The stack did not come up; the message tells the last lines of its log."""


def find(folder: Path = FOLDER) -> Running | None:
    """Return the stack that runs from a folder, if any."""
    state = folder / STATE
    if find_running(folder / ENGINES) is None or not state.exists():
        return None
    return Running(**json.loads(state.read_text()))


def up(say: Callable[[str], None], *, folder: Path = FOLDER, vectors: str = "minilm") -> Running:
    """Start the stack and wait until it is ready; a stack that runs is found."""
    running = find(folder)
    if running is not None:
        return running
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STATE).unlink(missing_ok=True)
    log = folder / LOG
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "local.daemon", str(folder), vectors],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    told = 0
    deadline = time.monotonic() + START_SECONDS
    try:
        while not (folder / STATE).exists():
            told = _tell_new(log, told, say)
            if process.poll() is not None or time.monotonic() > deadline:
                _tell_new(log, told, say)
                raise NotStartedError(f"the stack did not start: see {log}")
            time.sleep(LOOK_SECONDS)
    except BaseException:
        # Ctrl-C while it starts: what was started here ends here.
        process.terminate()
        process.wait(60)
        raise
    _tell_new(log, told, say)
    found = find(folder)
    if found is None:
        raise NotStartedError(f"the stack ended as soon as it was ready: see {log}")
    return found


def down(*, folder: Path = FOLDER) -> bool:
    """End the stack; return whether one ran."""
    (folder / STATE).unlink(missing_ok=True)
    return stop_running(folder / ENGINES)


def _tell_new(log: Path, told: int, say: Callable[[str], None]) -> int:
    lines = log.read_text(errors="replace").splitlines()
    for line in lines[told:]:
        say(line)
    return len(lines)


def main() -> int:
    """Run the stack until told to end."""
    folder, vectors = Path(sys.argv[1]), sys.argv[2]
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())

    def say(text: str) -> None:
        print(text, flush=True)

    with local_stack(folder, log=say, vectors=vectors) as stack:
        running = Running(stack.endpoint_url, stack.model_origin)
        state = folder / STATE
        # Queues live in memory here: after a restart the ledger brings the open tasks back.
        recovered = recover(stack)
        if recovered:
            say(f"{recovered} open documents sent again, as the queues were empty")
        part = state.with_suffix(".part")
        part.write_text(json.dumps(asdict(running)))
        part.replace(state)
        ended.wait()
        state.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
