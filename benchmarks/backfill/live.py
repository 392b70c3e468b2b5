"""What goes on beside a backfill: an application that writes, and functions that are killed."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.backfill.table import LOOK_SECONDS, make_item, rows_of
from local.stack import LocalStack
from ops.deployment import Deployment

KILL_EVERY_SECONDS = 4.0


@dataclass
class LiveWrites:
    """An application that writes at a steady rate, and how fresh its documents were."""

    deployment: Deployment
    per_second: float
    written_ms: dict[str, int] = field(default_factory=dict)

    def go_on_while(self, goes_on: Callable[[], bool], prefix: str) -> None:
        """Write new documents as long as it is asked for."""
        client = self.deployment.client("dynamodb")
        table = self.deployment.source(None).table
        began = time.monotonic()
        number = 0
        while goes_on():
            name = f"{prefix}-{number:06}"
            self.written_ms[name] = time.time_ns() // 1_000_000
            client.put_item(TableName=table, Item=make_item(name))
            number += 1
            time.sleep(max(0.0, began + number / self.per_second - time.monotonic()))

    def freshness_seconds(self, prefix: str) -> list[float]:
        """Return how long each write took from the table to the index."""
        names = [name for name in self.written_ms if name.startswith(prefix)]
        rows = rows_of(self.deployment, names)
        return [
            ((row.outcome.completed_ms or 0) - self.written_ms[row.task.document_id]) / 1000
            for row in rows
        ]


class Kills(threading.Thread):
    """Kills functions in the middle of their work, so many times each."""

    def __init__(self, stack: LocalStack, wanted: dict[str, int], is_over: threading.Event) -> None:
        super().__init__()
        self._stack = stack
        self._wanted = wanted
        self._is_over = is_over
        self._chance = random.Random(0)
        self.done = dict.fromkeys(wanted, 0)

    def run(self) -> None:
        """Kill now and then, until all is over."""
        while not self._is_over.wait(KILL_EVERY_SECONDS):
            for folder, wanted in self._wanted.items():
                if self.done[folder] < wanted:
                    self.done[folder] += self._kill(folder)

    def _kill(self, folder: str) -> bool:
        """Wait for a run in the middle of its work; tell whether it was ended."""
        deadline = time.monotonic() + KILL_EVERY_SECONDS
        before = self._stack.runner.killed_invocations
        while time.monotonic() < deadline and not self._is_over.is_set():
            if self._stack.runner.kill_busy(folder, self._chance):
                time.sleep(1)
                return self._stack.runner.killed_invocations > before
            time.sleep(0.02)
        return False


def first_write(deployment: Deployment, live: LiveWrites) -> None:
    """Write until the stream is read for sure: the first records may be before its beginning."""
    for number in range(600):
        name = f"first-{number:03}"
        live.go_on_while(iter([True, False]).__next__, name)
        time.sleep(3 * LOOK_SECONDS)
        if rows_of(deployment, [f"{name}-000000"]):
            break
        del live.written_ms[f"{name}-000000"]
        deployment.client("dynamodb").delete_item(
            TableName=deployment.source(None).table, Key={"id": {"S": f"{name}-000000"}}
        )
