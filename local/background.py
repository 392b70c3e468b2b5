"""The stack in the background: found, started and stopped by commands.

Light to import: the stack itself runs in a process of its own, `local.daemon`.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from local.engines.ports import FILE as PORTS
from local.engines.records import find_running, stop_running
from local.files import private_folder
from local.stages import CHECKOUT, STANDARD, ChosenStage

# Holds one folder for each stack.
FOLDER = Path(os.environ.get("EMBEDQ_FOLDER") or CHECKOUT / ".local")
# Emptied by each demo that does not keep its stack.
DEMO = "demo"
# Held while a stack is started.
LOCK = "up.lock"
ENGINES = "engines"
STATE = "stack.json"
LOG = "up.log"
# Begins the last line of the log of a stack that nobody has stopped.
ENDED = "ended by itself"
START_SECONDS = 600.0
STOP_SECONDS = 60.0
LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Running:
    """Where a running stack is reached."""

    endpoint_url: str
    model_origin: str
    stage: str | None = None  # of cdk.json; None: the standard stage
    stack: str = STANDARD.stack
    vectors: str = "minilm"


class NotStartedError(Exception):
    """The stack did not come up; the message names its log."""


def folder_of(stage: ChosenStage, vectors: str) -> Path:
    """Return the folder of a stage's stack; an index holds vectors of one model only."""
    name = "standard" if stage.is_standard else f"stage-{stage.name}"
    return FOLDER / (name if vectors == "minilm" else f"{name}.{vectors}")


def demo_folder() -> Path:
    """Return the folder of a demo whose stack ends with it."""
    return FOLDER / DEMO


def has_documents(folder: Path) -> bool:
    """Return whether a stack was ever started on a folder."""
    return (folder / ENGINES).is_dir()


def empty(folder: Path) -> None:
    """Remove all that a stack that does not run has kept, but its ports."""
    for path in folder.glob("*"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != PORTS:
            path.unlink()


def folders() -> list[Path]:
    """Return the folders of all stacks that were ever started from this checkout."""
    return sorted(path for path in FOLDER.glob("*") if path.is_dir())


def find(folder: Path) -> Running | None:
    """Return the stack that runs from a folder, if any."""
    state = folder / STATE
    if find_running(folder / ENGINES) is None or not state.exists():
        return None
    return Running(**json.loads(state.read_text()))


def find_any() -> tuple[Path, Running] | None:
    """Return the stack that runs from this checkout, the demo's or another, and its folder."""
    for folder in folders():
        running = find(folder)
        if running is not None:
            return folder, running
    return None


def last_end() -> str | None:
    """Say why the stack that was started last is gone; None if somebody has stopped it."""
    logs = [log for folder in folders() if (log := folder / LOG).exists()]
    if not logs:
        return None
    log = max(logs, key=lambda one: one.stat().st_mtime)
    *_, last = ["", *log.read_text(errors="replace").splitlines()]
    if last.startswith(ENDED):
        return f"the last one {last}: see {log}"
    # Who stops a stack removes this file; a signal that kills it does not.
    return f"the last one was killed: see {log}" if (log.parent / STATE).exists() else None


def up(
    say: Callable[[str], None],
    folder: Path,
    *,
    stage: ChosenStage = STANDARD,
    vectors: str = "minilm",
    short_lived: bool = False,
    port: int | None = None,
) -> Running:
    """Start the stack and wait until it is ready; a stack that runs is found.

    A short-lived one starts faster, and is slower under load.
    """
    with _one_at_a_time(say):
        options = ["--short-lived"] if short_lived else []
        options += [] if port is None else ["--port", str(port)]
        return find(folder) or _start(say, folder, stage, vectors, options)


def down(folder: Path) -> bool:
    """End the stack of a folder; return whether one ran."""
    (folder / STATE).unlink(missing_ok=True)
    return stop_running(folder / ENGINES)


def is_starting() -> bool:
    """Return True while a stack of this checkout is being started."""
    try:
        with FileLock(FOLDER / LOCK, blocking=False):
            return False
    except Timeout:
        return True


@contextmanager
def _one_at_a_time(say: Callable[[str], None]) -> Iterator[None]:
    """Wait until no other process starts a stack of this checkout."""
    private_folder(FOLDER)
    if is_starting():
        say("another `embedq up` is starting a stack: waiting for it")
    with FileLock(FOLDER / LOCK):
        yield


def _start(
    say: Callable[[str], None],
    folder: Path,
    stage: ChosenStage,
    vectors: str,
    options: Sequence[str],
) -> Running:
    private_folder(folder)
    (folder / STATE).unlink(missing_ok=True)
    log = folder / LOG
    log.touch(0o600)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "local.daemon", str(folder), vectors),
                *(str(stage.file), stage.name, *options),
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
        if process.poll() is None:
            say("stopping what was started")
            _end(process)
        raise
    _show_new(log, shown, say)
    found = find(folder)
    if found is None:
        raise NotStartedError(f"the stack ended as soon as it was ready: see {log}")
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        # Its engines end with it.
        process.kill()


def _show_new(log: Path, shown: int, say: Callable[[str], None]) -> int:
    lines = log.read_text(errors="replace").splitlines()
    for line in lines[shown:]:
        say(line)
    return len(lines)
