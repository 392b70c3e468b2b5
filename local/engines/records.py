"""The record that running engines leave in their folder, so that others find them or clean up."""

import json
import signal
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from local.files import write_json
from local.processes import ProcessId, wait_for

FILE = "engines.json"


@dataclass(frozen=True)
class EngineRecord:
    """One engine and where it answers."""

    name: str
    url: str
    process: ProcessId


@dataclass(frozen=True)
class Record:
    """Which process owns the engines of a folder, what supervises them, and which run."""

    owner: ProcessId
    supervisor: ProcessId
    engines: tuple[EngineRecord, ...] = ()

    def write(self, folder: Path) -> None:
        """Leave the record in the folder, whole or not at all."""
        write_json(folder / FILE, asdict(self))

    def processes(self) -> tuple[ProcessId, ...]:
        """Return the supervisor and every engine."""
        return (self.supervisor, *(engine.process for engine in self.engines))


def read_record(folder: Path) -> Record | None:
    """Return the folder's record, None where there is none that can be read."""
    try:
        found = json.loads((folder / FILE).read_text())
        engines = tuple(
            EngineRecord(one["name"], one["url"], ProcessId(**one["process"]))
            for one in found["engines"]
        )
        return Record(ProcessId(**found["owner"]), ProcessId(**found["supervisor"]), engines)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_running(folder: Path) -> Record | None:
    """Return the record of engines that run on this folder with their owner, else None."""
    record = read_record(folder)
    return record if record and record.owner.is_alive() else None


def end_leftovers(folder: Path, *, wait_seconds: float = 15.0) -> None:
    """Wait for the engines of a dead owner to end, kill what does not, drop the record."""
    record = read_record(folder)
    if record and not _are_gone(record.processes(), wait_seconds):
        for process in record.processes():
            process.send(signal.SIGKILL)
        _are_gone(record.processes(), wait_seconds)
    drop_record(folder)


def stop_running(folder: Path, *, wait_seconds: float = 30.0) -> bool:
    """Stop the owner of a folder's engines and wait for its end; False if there is none."""
    record = find_running(folder)
    if record:
        for number in (signal.SIGTERM, signal.SIGKILL):
            record.owner.send(number)
            if _are_gone([record.owner], wait_seconds):
                break
    end_leftovers(folder)
    return record is not None


def drop_record(folder: Path) -> None:
    """Remove the folder's record: nothing runs there any more."""
    (folder / FILE).unlink(missing_ok=True)


def _are_gone(processes: Iterable[ProcessId], seconds: float) -> bool:
    processes = tuple(processes)
    return wait_for(lambda: not any(process.is_alive() for process in processes), seconds)
