"""Start all engines on one folder and stop them together: what the rest of embedq uses of them."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType

from local.aws_client import ACCOUNT, REGION
from local.engines import dynamodb, elasticmq, opensearch
from local.engines.artifacts import Artifact
from local.engines.cache import file_lock
from local.engines.dynamodb import launch_dynamodb
from local.engines.elasticmq import launch_elasticmq
from local.engines.errors import EnginesRunningError
from local.engines.fetch import fetch_all
from local.engines.java import choose_java
from local.engines.opensearch import launch_opensearch
from local.engines.places import place_for
from local.engines.progress import fetch_progress
from local.engines.ready import Engine, wait_until_ready
from local.engines.records import (
    EngineRecord,
    ProcessId,
    Record,
    drop_record,
    end_leftovers,
    find_running,
)


@dataclass(frozen=True)
class Engines:
    """The running engines of a folder; leaving the `with` block stops them."""

    folder: Path
    opensearch: Engine
    dynamodb: Engine
    sqs: Engine

    @property
    def all(self) -> tuple[Engine, ...]:
        """Return every engine."""
        return (self.opensearch, self.dynamodb, self.sqs)

    @property
    def opensearch_url(self) -> str:
        """Return where OpenSearch answers."""
        return self.opensearch.url

    @property
    def dynamodb_url(self) -> str:
        """Return where DynamoDB and its streams answer."""
        return self.dynamodb.url

    @property
    def sqs_url(self) -> str:
        """Return where SQS answers."""
        return self.sqs.url

    def ended(self) -> tuple[str, ...]:
        """Return the names of engines that have ended by themselves."""
        return tuple(engine.name for engine in self.all if engine.process.ended())

    def stop(self) -> None:
        """Stop all engines at once and wait until their processes are gone."""
        _stop(self.all)
        drop_record(self.folder)

    def __enter__(self) -> "Engines":
        """Return the running engines."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop them."""
        self.stop()


def start_engines(
    folder: Path,
    *,
    log: Callable[[str], None],
    in_memory: bool = False,
    short_lived: bool = False,
    region: str = REGION,
    account: str = ACCOUNT,
) -> Engines:
    """Start the engines on a folder and return when all are ready.

    They live no longer than this process. In memory, their data is gone when they stop. For a
    short life, as in tests, they start sooner and run slower.
    """
    folder = folder.absolute()
    _claim(folder)
    launched: list[Engine] = []
    try:
        files = fetch_engines(log)
        java = choose_java(short_lived=short_lived)
        log(f"starting OpenSearch, DynamoDB Local and ElasticMQ with Java {java.version}")
        log(dynamodb.LISTENS_EVERYWHERE)
        place = partial(place_for, folder=folder, in_memory=in_memory)
        # OpenSearch first: it takes longest. Then all of them start at the same time.
        launched.append(launch_opensearch(files, java, place("opensearch")))
        launched.append(launch_dynamodb(files, java, place("dynamodb")))
        launched.append(launch_elasticmq(files, java, place("sqs"), region=region, account=account))
        _record(launched).write(folder)
        wait_until_ready(launched, log=log)
    except BaseException:
        _stop(launched)
        drop_record(folder)
        raise
    return Engines(folder, *launched)


def fetch_engines(log: Callable[[str], None]) -> dict[Artifact, Path]:
    """Bring the files of every engine into the cache, showing progress."""
    wanted = (*opensearch.ARTIFACTS, *dynamodb.artifacts(), *elasticmq.artifacts())
    return fetch_all(wanted, fetch_progress(log))


def _claim(folder: Path) -> None:
    """Make this process the one owner of the folder, after what a dead one left has ended."""
    folder.mkdir(parents=True, exist_ok=True)
    with file_lock(folder / "engines.lock"):
        if running := find_running(folder):
            raise EnginesRunningError(
                f"Engines already run on {folder}, started by process {running.owner.pid}. "
                "Use them, or stop them first."
            )
        end_leftovers(folder)
        _record(()).write(folder)


def _record(engines: Iterable[Engine]) -> Record:
    entries = (
        EngineRecord(
            engine.name,
            engine.url,
            ProcessId.of(engine.process.pid),
            ProcessId.of(engine.process.watcher_pid),
        )
        for engine in engines
    )
    return Record(ProcessId.of(os.getpid()), tuple(entries))


def _stop(engines: Iterable[Engine]) -> None:
    """Ask all before waiting for any: a second Ctrl-C then finds them all on their way out."""
    engines = tuple(engines)
    for engine in engines:
        engine.process.ask_to_stop()
    for engine in engines:
        engine.process.wait_until_gone()
