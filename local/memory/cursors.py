"""Cursors in a dictionary."""


class MemoryCursors:
    """Remembers a shard for each job."""

    def __init__(self) -> None:
        self.shards: dict[str, int] = {}

    def read(self, job: str) -> int:
        return self.shards.get(job, 0)

    def write(self, job: str, shard: int) -> None:
        self.shards[job] = shard
