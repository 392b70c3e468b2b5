"""The stack in the background: found, started and stopped by commands.

Light to import: the stack itself runs in a process of its own, `local.daemon`.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local.engines.records import find_running, stop_running

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDER = CHECKOUT / ".local"
# Emptied by each demo, so that every one shows the same.
DEMO_FOLDER = FOLDER / "demo"
# An index holds vectors of one model only.
HASHED_FOLDER = FOLDER / "hashed"
FOLDERS = (FOLDER, DEMO_FOLDER, HASHED_FOLDER)
STACK = "embedq-local"
ENGINES = "engines"
STATE = "stack.json"
LOG = "up.log"
START_SECONDS = 600.0
LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Running:
    """Where a running stack is reached."""

    endpoint_url: str
    model_origin: str
    stack: str = STACK


class NotStartedError(Exception):
    """The stack did not come up; the message names its log."""


def find(folder: Path) -> Running | None:
    """Return the stack that runs from a folder, if any."""
    state = folder / STATE
    if find_running(folder / ENGINES) is None or not state.exists():
        return None
    return Running(**json.loads(state.read_text()))


def find_any() -> tuple[Path, Running] | None:
    """Return the stack that runs from this checkout, the demo's or another, and its folder."""
    for folder in FOLDERS:
        running = find(folder)
        if running is not None:
            return folder, running
    return None


def up(
    say: Callable[[str], None],
    folder: Path,
    *,
    vectors: str = "minilm",
    short_lived: bool = False,
) -> Running:
    """Start the stack and wait until it is ready; a stack that runs is found.

    A short-lived one starts faster, and is slower under load.
    """
    running = find(folder)
    if running is not None:
        return running
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STATE).unlink(missing_ok=True)
    log = folder / LOG
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "local.daemon", str(folder), vectors),
                *(["--short-lived"] if short_lived else []),
            ],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    shown = 0
    deadline = time.monotonic() + START_SECONDS
    try:
        while not (folder / STATE).exists():
            shown = _show_new(log, shown, say)
            if process.poll() is not None or time.monotonic() > deadline:
                _show_new(log, shown, say)
                raise NotStartedError(f"the stack did not start: see {log}")
            time.sleep(LOOK_SECONDS)
    except BaseException:
        # Ctrl-C while it starts: what was started here ends here.
        process.terminate()
        process.wait(60)
        raise
    _show_new(log, shown, say)
    found = find(folder)
    if found is None:
        raise NotStartedError(f"the stack ended as soon as it was ready: see {log}")
    return found


def down(folder: Path) -> bool:
    """End the stack of a folder; return whether one ran."""
    (folder / STATE).unlink(missing_ok=True)
    return stop_running(folder / ENGINES)


def _show_new(log: Path, shown: int, say: Callable[[str], None]) -> int:
    lines = log.read_text(errors="replace").splitlines()
    for line in lines[shown:]:
        say(line)
    return len(lines)
