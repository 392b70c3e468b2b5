"""An engine that cannot be run is reported by its name."""

import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from local.engines.engine import Engine, launch, place_for
from local.engines.errors import EngineStartError
from local.engines.fetch import Artifact
from local.engines.java import Java
from local.processes import Processes


class Broken(Engine):
    """An engine whose program does not exist."""

    key = "broken"
    name = "Broken"
    artifacts = ()

    def command(
        self,
        files: Mapping[Artifact, Path],  # noqa: ARG002
        java: Java,  # noqa: ARG002
        data: Path,
        port: int,  # noqa: ARG002
    ) -> Sequence[str]:
        data.mkdir()
        return ("/does/not/exist",)

    def health_request(self, url: str) -> urllib.request.Request:
        return urllib.request.Request(url)


def test_an_engine_that_cannot_run_is_one_clear_error(tmp_path: Path) -> None:
    """R82: the message holds the engine and the reason."""
    place = place_for("broken", tmp_path, in_memory=False)
    java = Java(tmp_path, 21, has_vector_module=False)

    with (
        Processes() as processes,
        pytest.raises(EngineStartError, match=r"Broken: .*could not be run.*No such file"),
    ):
        launch(Broken(), {}, java, place, processes)
