"""Start all engines on one folder and stop them together: what the rest of embedq uses of them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock

from local.engines.dynamodb import DynamoDb
from local.engines.elasticmq import ElasticMq
from local.engines.engine import Engine, RunningEngine, launch, place_for, wait_until_ready
from local.engines.errors import EnginesRunningError
from local.engines.fetch import Artifact, fetch_all
from local.engines.java import choose_java
from local.engines.opensearch import OpenSearch
from local.engines.ports import Ports
from local.engines.progress import fetch_progress
from local.engines.records import EngineRecord, Record, drop_record, end_leftovers, find_running
from local.files import private_folder
from local.processes import Processes, ProcessId

# Every engine. OpenSearch first: it takes longest to start.
ENGINES: Sequence[Engine] = (OpenSearch(), DynamoDb(), ElasticMq())


@dataclass(frozen=True)
class Engines:
    """The running engines of a folder; leaving the `with` block stops them."""

    folder: Path
    running: Sequence[RunningEngine]
    processes: Processes

    def url(self, kind: type[Engine]) -> str:
        """Return where an engine answers."""
        return next(one.url for one in self.running if isinstance(one.engine, kind))

    def ended(self) -> tuple[str, ...]:
        """Return the names of engines that have ended by themselves."""
        return tuple(one.name for one in self.running if one.process.has_ended)

    def stop(self) -> None:
        """Stop all engines at once and wait until their processes are gone."""
        self.processes.close()
        drop_record(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start_engines(
    folder: Path,
    *,
    log: Callable[[str], None],
    ports: Ports | None = None,
    in_memory: bool = False,
    short_lived: bool = False,
    maps_files: bool = False,
) -> Engines:
    """Start the engines on a folder and return when all are ready.

    Their ports are those of the stack, or of the folder. They live no longer than this process. In
    memory, their data is gone when they stop. For a short life, as in tests, they start sooner and
    run slower. `maps_files` is for indexes without vectors that are compressed 32x.
    """
    folder = folder.absolute()
    _claim(folder)
    processes = Processes()
    try:
        files = fetch_engines(log)
        java = choose_java(short_lived=short_lived)
        engines = (OpenSearch(maps_files=maps_files), *ENGINES[1:])
        names = [engine.name for engine in engines]
        log(f"starting {', '.join(names[:-1])} and {names[-1]} with Java {java.version}")
        ports = ports or Ports(folder, log)
        running = []
        for engine in engines:
            place = place_for(engine.key, folder, in_memory=in_memory)
            port = ports.take(engine.name)
            running.append(launch(engine, files, java, place, processes, port))
        _record(processes.supervisor_pid, running).write(folder)
        wait_until_ready(running, log=log)
    except BaseException:
        processes.close()
        drop_record(folder)
        raise
    return Engines(folder, running, processes)


def fetch_engines(log: Callable[[str], None]) -> dict[Artifact, Path]:
    """Bring the files of every engine into the cache, showing progress."""
    wanted = [artifact for engine in ENGINES for artifact in engine.artifacts]
    return fetch_all(wanted, fetch_progress(log))


def _claim(folder: Path) -> None:
    """Make this process the one owner of the folder, after what a dead one left has ended."""
    private_folder(folder)
    with FileLock(folder / "engines.lock"):
        if running := find_running(folder):
            raise EnginesRunningError(
                f"Engines already run on {folder}, started by process {running.owner.pid}: "
                "first stop them, with `embedq down`"
            )
        end_leftovers(folder)
        _record(0, ()).write(folder)


def _record(supervisor: int, engines: Sequence[RunningEngine]) -> Record:
    entries = [EngineRecord(e.name, e.url, ProcessId.of(e.process.pid)) for e in engines]
    return Record(ProcessId.of(os.getpid()), ProcessId.of(supervisor), tuple(entries))
