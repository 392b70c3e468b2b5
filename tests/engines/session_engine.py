"""Start an engine once per test session, however many conftests import its fixture."""

import pytest

from local.engines.engine import Engine, RunningEngine, launch, place_for, wait_until_ready
from local.engines.fetch import fetch_all
from local.engines.java import choose_java
from local.engines.progress import fetch_progress
from local.processes import Processes

RUNNING = pytest.StashKey[dict[str, RunningEngine]]()


def session_engine(
    config: pytest.Config, tmp: pytest.TempPathFactory, engine: Engine
) -> RunningEngine:
    """Return the session's engine of this kind, in memory, stopped when pytest ends."""
    running = config.stash.setdefault(RUNNING, {})
    if engine.key not in running:
        files = fetch_all(engine.artifacts, fetch_progress(print))
        place = place_for(engine.key, tmp.mktemp(engine.key), in_memory=True)
        processes = Processes()
        config.add_cleanup(processes.close)
        java = choose_java(short_lived=True)
        running[engine.key] = launch(engine, files, java, place, processes)
        wait_until_ready([running[engine.key]], log=print)
    return running[engine.key]
