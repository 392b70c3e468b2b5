"""Start an engine once per test run, whichever of its worker processes needs it first."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from local.engines.engine import Engine, RunningEngine, launch, place_for, wait_until_ready
from local.engines.fetch import fetch_all
from local.engines.java import choose_java
from local.engines.progress import fetch_progress
from local.processes import Processes
from tests.run_folder import hold_as_user, run_folder, wait_for_users

FOUND = pytest.StashKey[dict[str, "SessionEngine"]]()


@dataclass(frozen=True)
class SessionEngine:
    """A running engine, as every worker sees it."""

    url: str
    data: Path


def session_engine(
    config: pytest.Config, tmp: pytest.TempPathFactory, engine: Engine
) -> SessionEngine:
    """Return the run's engine of this kind, in memory, stopped when all its users have ended."""
    found = config.stash.setdefault(FOUND, {})
    if engine.key not in found:
        folder = run_folder(tmp)
        state, users = folder / f"{engine.key}.json", folder / f"{engine.key}.users"
        with FileLock(folder / f"{engine.key}.lock"):
            if not state.exists():
                processes = Processes()
                # It ends with the process that started it, which may have no more tests to run.
                config.add_cleanup(processes.close)
                config.add_cleanup(lambda: wait_for_users(users))
                started = _start(engine, folder, processes)
                state.write_text(json.dumps({"url": started.url, "data": str(started.place.data)}))
            config.add_cleanup(hold_as_user(users))
        read = json.loads(state.read_text())
        found[engine.key] = SessionEngine(read["url"], Path(read["data"]))
    return found[engine.key]


def _start(engine: Engine, folder: Path, processes: Processes) -> RunningEngine:
    files = fetch_all(engine.artifacts, fetch_progress(print))
    place = place_for(engine.key, folder / engine.key, in_memory=True)
    started = launch(engine, files, choose_java(short_lived=True), place, processes)
    wait_until_ready([started], log=print)
    return started
