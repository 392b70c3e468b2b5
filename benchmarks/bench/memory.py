"""Memory of embed's step after many messages, between stores that forget each batch.

A program of its own, so that nothing else is in its memory: it prints the resident megabytes after
each number of messages.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence

import psutil

from benchmarks.bench.documents import make_item
from benchmarks.bench.row import Row
from functions.core.lane import Lane
from functions.core.settings import SourceSettings, TargetSettings
from local.memory.pipeline import MemoryPipeline

MESSAGES = (10, 1_000, 10_000)
DIMENSIONS = 1536
MOST_GROWTH = 1.3


def rows(messages: Sequence[int] = MESSAGES) -> list[Row]:
    """Run the program, and compare the last two numbers."""
    command = [sys.executable, "-m", "benchmarks.bench.memory", *map(str, messages)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: list[float] = json.loads(printed)
    first, middle, last = found
    names = " / ".join(f"{number:,}" for number in messages)
    return [
        Row(
            f"memory of embed at {names} messages",
            last / middle,
            "x",
            f"itself at {messages[1]:,} messages",
            limit=MOST_GROWTH,
            note=f"{first:.0f} / {middle:.0f} / {last:.0f} MB",
        )
    ]


def megabytes_after(messages: Sequence[int]) -> Iterator[float]:
    """Work documents in batches; yield the resident memory after each number of them."""
    target = TargetSettings(
        name="default", model="text-embedding-3-small", dimensions=DIMENSIONS, index="articles"
    )
    source = SourceSettings(
        name="articles",
        table="articles",
        key=("id",),
        text="{title}\n\n{body}",
        priority_attribute="priority",
    )
    pipeline = MemoryPipeline([source], [target])
    done = 0
    for mark in messages:
        while done < mark:
            batch = min(Lane.BULK.traits.batch_size, mark - done)
            _work(pipeline, range(done, done + batch))
            done += batch
        yield psutil.Process().memory_info().rss / 1e6


def _work(pipeline: MemoryPipeline, numbers: range) -> None:
    """Bring documents into the index, and let everything around the step forget them."""
    table, index = pipeline.tables["articles"], pipeline.indexes["default"]
    for number in numbers:
        table.put(make_item(f"document-{number}", Lane.BULK))
    pipeline.deliver(table.stream)
    taken = pipeline.run(f"default/{Lane.BULK}", len(numbers))
    if taken != len(numbers) or len(index.entries) != len(numbers):
        raise RuntimeError(f"{len(index.entries)} of {len(numbers)} documents are in the index")
    table.items.clear()
    table.stream.clear()
    index.entries.clear()
    pipeline.ledger.rows.clear()
    pipeline.announcer.events.clear()
    pipeline.telemetry.events.clear()
    pipeline.embedders["default"].requests.clear()  # type: ignore[attr-defined]


if __name__ == "__main__":
    print(json.dumps(list(megabytes_after([int(one) for one in sys.argv[1:]]))))
