"""The watch of the indexes: as many as there is time for."""

import pytest

from functions.sweep.watch import WatchIndexes
from local.memory.index import MemoryIndexAdmin
from tests.unit.sweep.world import World


@pytest.mark.parametrize(("left", "known"), [(0.5, "index-1"), (0.0, "")])
def test_index_is_not_asked_without_time(world: World, left: float, known: str) -> None:
    """R61: the other jobs of the minute have theirs."""
    admin = MemoryIndexAdmin({"alias": world.indexes["default"]})

    watch = WatchIndexes(admin, world.control, world.telemetry, {"default": "alias"})
    watch.run(lambda: left)

    assert world.control.read("default").index_uuid == known
