"""The note that running engines leave in their folder, so that others find them or clean up.

A process is known by pid and start time together: a pid alone may be somebody else's by now.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from local.files import write_json

FILE = "engines.json"
POLL_SECONDS = 0.05
ENDED = ""


@dataclass(frozen=True)
class ProcessId:
    """One process, never mistaken for a later one with the same pid."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> "ProcessId":
        """Return the identity of a process; one that has ended already is never alive."""
        return cls(pid, _start_time(pid))

    def is_alive(self) -> bool:
        """Tell whether this very process still runs."""
        return self.started != ENDED and _start_time(self.pid) == self.started


@dataclass(frozen=True)
class EngineRecord:
    """One engine, its watcher and where it answers."""

    name: str
    url: str
    engine: ProcessId
    watcher: ProcessId


@dataclass(frozen=True)
class Record:
    """Who runs engines on a folder, and which."""

    owner: ProcessId
    engines: tuple[EngineRecord, ...]

    def write(self, folder: Path) -> None:
        """Leave the record in the folder, whole or not at all."""
        write_json(folder / FILE, asdict(self))

    def processes(self) -> tuple[ProcessId, ...]:
        """Return every engine and watcher, watchers first."""
        return (*(e.watcher for e in self.engines), *(e.engine for e in self.engines))


def read_record(folder: Path) -> Record | None:
    """Return the folder's record, None where there is none that can be read."""
    try:
        found = json.loads((folder / FILE).read_text())
        engines = (
            EngineRecord(e["name"], e["url"], ProcessId(**e["engine"]), ProcessId(**e["watcher"]))
            for e in found["engines"]
        )
        return Record(ProcessId(**found["owner"]), tuple(engines))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_running(folder: Path) -> Record | None:
    """Return the record of engines that run on this folder with their owner, else None."""
    record = read_record(folder)
    return record if record and record.owner.is_alive() else None


def end_leftovers(folder: Path, *, wait_seconds: float = 15.0) -> None:
    """Wait for the engines of a dead owner to end, kill what does not, drop the record."""
    record = read_record(folder)
    if record:
        gone = _wait_until_gone(record.processes(), wait_seconds)
        for process in () if gone else record.processes():
            with contextlib.suppress(ProcessLookupError):
                if process.is_alive():
                    os.kill(process.pid, signal.SIGKILL)
        _wait_until_gone(record.processes(), wait_seconds)
    drop_record(folder)


def stop_running(folder: Path, *, wait_seconds: float = 30.0) -> bool:
    """Ask the owner of a folder's engines to end, and see to it; False if there is none."""
    record = find_running(folder)
    if record:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if record.owner.is_alive():
                os.kill(record.owner.pid, number)
            if wait_for(lambda: not record.owner.is_alive(), wait_seconds):
                break
    end_leftovers(folder)
    return record is not None


def drop_record(folder: Path) -> None:
    """Remove the folder's record: nothing runs there any more."""
    (folder / FILE).unlink(missing_ok=True)


def _wait_until_gone(processes: Iterable[ProcessId], seconds: float) -> bool:
    processes = tuple(processes)
    return wait_for(lambda: not any(p.is_alive() for p in processes), seconds)


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until the condition holds; False if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _start_time(pid: int) -> str:
    """Return when the process started, in the words of this system; ENDED if it has ended."""
    if Path("/proc/self/stat").exists():
        try:
            # The program's name, in brackets, may hold anything: count fields after the last one.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return ENDED
        state, ticks_after_boot = fields[0], fields[19]
        return ENDED if state in "ZX" else ticks_after_boot
    shown = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip() or ENDED
