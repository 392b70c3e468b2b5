"""What an engine is: its name, its files, how to start it and how to check that it answers."""

import http.client
import tempfile
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from local.engines.errors import EngineStartError
from local.engines.fetch import Artifact
from local.engines.java import Java
from local.engines.ports import free_port
from local.processes import Process, Processes, ProcessStartError, Program

LOOPBACK = "127.0.0.1"
MEMORY = Path("/dev/shm")
POLL_SECONDS = 0.05
ANSWER_SECONDS = 3.0
START_SECONDS = 300.0
GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Place:
    """The folder an engine works in, its log, and whether the folder goes with the engine."""

    data: Path
    log: Path
    remove_at_end: bool = False


class Engine(ABC):
    """One engine, described once; `launch` starts it."""

    key: str  # of its folder and log
    name: str  # for people

    @property
    @abstractmethod
    def artifacts(self) -> Sequence[Artifact]:
        """Return the files it needs."""

    @abstractmethod
    def command(
        self, files: Mapping[Artifact, Path], java: Java, data: Path, port: int
    ) -> Sequence[str]:
        """Write its settings into its folder and return the command that runs it."""

    @abstractmethod
    def health_request(self, url: str) -> urllib.request.Request:
        """Return a request that gets a good answer once it is ready."""

    def on_ready(self, data: Path) -> None:  # noqa: B027 - most engines need nothing
        """Do what can only be done once it answers."""

    def user(self) -> int | None:
        """Return the user to run as, None for our own."""
        return None


@dataclass(frozen=True)
class RunningEngine:
    """An engine that was launched."""

    engine: Engine
    url: str
    place: Place
    process: Process

    @property
    def name(self) -> str:
        """Return the name for people."""
        return self.engine.name

    def answers(self) -> bool:
        """Return whether it gives a good answer soon."""
        # Our own machine is never behind the proxy that the environment may name.
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(self.engine.health_request(self.url), timeout=ANSWER_SECONDS):
                return True
        except (OSError, http.client.HTTPException):
            return False


def launch(
    engine: Engine,
    files: Mapping[Artifact, Path],
    java: Java,
    place: Place,
    processes: Processes,
    port: int | None = None,
) -> RunningEngine:
    """Start an engine on its folder and port, without waiting until it is ready."""
    port = free_port() if port is None else port
    program = Program(
        command=engine.command(files, java, place.data, port),
        folder=place.data,
        # Nothing of ours: no credentials, no JAVA_TOOL_OPTIONS.
        environment={"HOME": str(place.data)},
        log=place.log,
        user=engine.user(),
        grace_seconds=GRACE_SECONDS,
        remove=place.data if place.remove_at_end else None,
    )
    try:
        process = processes.start(program)
    except ProcessStartError as error:
        raise EngineStartError(f"{engine.name}: {error}") from error
    return RunningEngine(engine, f"http://{LOOPBACK}:{port}", place, process)


def place_for(key: str, folder: Path, *, in_memory: bool) -> Place:
    """Choose the place of one engine; the log of the run before is kept beside the new one."""
    log = folder / "logs" / f"{key}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(log.with_suffix(".old.log"))
    log.touch()
    if not in_memory:
        return Place(folder / key, log)
    # For us alone; OpenSearch, which may run as another user, gets it as its own.
    data = Path(tempfile.mkdtemp(prefix=f"embedq-{key}-", dir=MEMORY if MEMORY.is_dir() else None))
    return Place(data, log, remove_at_end=True)


def wait_until_ready(
    engines: Iterable[RunningEngine], *, log: Callable[[str], None], seconds: float = START_SECONDS
) -> None:
    """Return when every engine answers; raise as soon as one has ended or takes too long."""
    began = time.monotonic()
    waiting = list(engines)
    while waiting:
        passed = time.monotonic() - began
        for one in tuple(waiting):
            if one.process.has_ended:
                raise _not_started(one, "ended while starting")
            if one.answers():
                one.engine.on_ready(one.place.data)
                waiting.remove(one)
                log(f"{one.name} ready after {time.monotonic() - began:.1f} s: {one.url}")
            elif passed > seconds:
                raise _not_started(one, f"did not answer within {seconds:.0f} s")
        time.sleep(POLL_SECONDS)


def _not_started(one: RunningEngine, what: str) -> EngineStartError:
    log = one.place.log
    lines = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
    return EngineStartError(f"{one.name} {what}. The end of {log}:\n{lines}")
