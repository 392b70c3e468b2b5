"""A place whose every client is the same fake engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.runner.place import RunnerPlace
from tests.unit.local.runner.conftest import NOWHERE


@dataclass(frozen=True)
class FakePlace(RunnerPlace):
    """Hand out the engine whatever client is asked for."""

    engine: Any = None

    def client(self, service: Any, url: str, *, connections: int = 10) -> Any:  # noqa: ARG002
        return self.engine


def place_with(engine: Any, folder: Path) -> RunnerPlace:
    """Return a place with this engine behind every client."""
    return FakePlace(folder, NOWHERE, NOWHERE, NOWHERE, engine=engine)
