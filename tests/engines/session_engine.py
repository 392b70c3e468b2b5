"""Start an engine once per test session, however many conftests import its fixture."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from local.engines.artifacts import Artifact
from local.engines.fetch import fetch_all
from local.engines.java import Java, choose_java
from local.engines.places import Place, place_for
from local.engines.progress import fetch_progress
from local.engines.ready import Engine, wait_until_ready

RUNNING = pytest.StashKey[dict[str, Engine]]()
Launch = Callable[[Mapping[Artifact, Path], Java, Place], Engine]


def session_engine(
    config: pytest.Config,
    tmp: pytest.TempPathFactory,
    name: str,
    artifacts: Iterable[Artifact],
    launch: Launch,
) -> Engine:
    """Return the session's engine of this name, in memory, stopped when pytest ends."""
    running = config.stash.setdefault(RUNNING, {})
    if name not in running:
        files = fetch_all(artifacts, fetch_progress(print))
        place = place_for(name, tmp.mktemp(name), in_memory=True)
        running[name] = launch(files, choose_java(short_lived=True), place)
        config.add_cleanup(running[name].process.stop)
        wait_until_ready([running[name]], log=print)
    return running[name]
