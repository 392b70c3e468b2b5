"""Failed changes in a dictionary, as Lambda writes them."""

from collections.abc import Iterator, Sequence

from functions.adapters.s3_failed_changes import parse_batch
from functions.core.failed_batch import FailedBatch
from functions.core.settings import SourceSettings


class MemoryFailedChanges:
    """Keeps invocation records by name."""

    def __init__(self, sources: Sequence[SourceSettings]) -> None:
        self._sources = sources
        self.objects: dict[str, bytes] = {}

    def names(self) -> Iterator[str]:
        yield from sorted(self.objects)

    def read(self, name: str) -> FailedBatch:
        return parse_batch(self.objects[name], self._sources)

    def remove(self, name: str) -> None:
        self.objects.pop(name, None)
