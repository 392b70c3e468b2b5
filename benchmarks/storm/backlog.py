"""A backlog of like documents for the scripted runs: written, waited for, looked at."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.storm.operations import Content, Kind, Operation
from benchmarks.storm.settle import SAY_SECONDS, look
from benchmarks.storm.texts import item, texts_needed, tokens_of
from benchmarks.storm.world import World
from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.batches import batches
from functions.core.identity import DocumentId, row_key
from functions.core.lane import Lane
from functions.core.ledger_row import LedgerRow, Status

BATCH_WRITE_LIMIT = 25
LOOK_SECONDS = 1.0
CONTENT = Content((1,), "ada", Lane.NORMAL)

Say = Callable[[str], None]


class StoryError(Exception):
    """Something did not happen in time."""


@dataclass(frozen=True)
class StoryResult:
    """What a scripted run showed, and what it should not have."""

    lines: Sequence[str]
    violations: Sequence[str]


class Backlog:
    """So many short documents in the normal lane."""

    def __init__(self, world: World, documents: int, say: Say) -> None:
        self._world = world
        self._names = [f"waiting-{number}" for number in range(documents)]
        self._say = say

    @property
    def tokens(self) -> int:
        """Count what all of them cost."""
        written = [Operation(0.0, 0, name, Kind.PUT, CONTENT) for name in self._names]
        return tokens_of(texts_needed(written, self._world.source, self._world.target))

    def write(self) -> None:
        """Write them as fast as the table takes them."""
        client = self._world.deployment.client("dynamodb")
        for part in batches(self._names, BATCH_WRITE_LIMIT):
            puts = [{"PutRequest": {"Item": to_dynamodb(item(name, CONTENT))}} for name in part]
            left: Any = {self._world.source.table: puts}
            while left:
                left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]

    def rows(self) -> list[LedgerRow]:
        """Return the rows that exist."""
        world = self._world
        keys = [
            row_key(world.target.name, world.source.name, DocumentId(name)) for name in self._names
        ]
        found: list[LedgerRow] = []
        for part in batches(keys, 100):
            found += world.deployment.ledger.read(part).values()
        return found

    def is_completed(self) -> bool:
        """Tell whether all can be found."""
        rows = self.rows()
        done = sum(row.status is Status.COMPLETED for row in rows)
        return done == len(self._names)

    def wait(self, condition: Callable[[], bool], what: str, *, limit_seconds: float) -> float:
        """Wait until it holds; return the seconds that it took."""
        began = said = time.monotonic()
        while not condition():
            now = time.monotonic()
            if now - began > limit_seconds:
                raise StoryError(f"not within {limit_seconds:.0f} s: {what}: {look(self._world)}")
            if now - said >= SAY_SECONDS:
                said = now
                self._say(f"{what}: {now - began:4.0f} s | {look(self._world)}")
            time.sleep(LOOK_SECONDS)
        return time.monotonic() - began


def violated(**facts: bool) -> list[str]:
    """Name the facts that hold."""
    return [name.replace("_", " ") for name, holds in facts.items() if holds]
