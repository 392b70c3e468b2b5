"""A stash in a dictionary."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from functions.core.identity import RowKey

if TYPE_CHECKING:
    from functions.core.entry import Vector


class MemoryStash:
    """Keeps vectors by row and chunk hash."""

    def __init__(self) -> None:
        self._kept: dict[RowKey, dict[str, Vector]] = {}

    def read(self, key: RowKey) -> Mapping[str, "Vector"]:
        return dict(self._kept.get(key, {}))

    def write(self, key: RowKey, vectors: Mapping[str, "Vector"]) -> None:
        self._kept.setdefault(key, {}).update(vectors)
