"""How fast is the whole stack on this machine, and is every document there afterwards?

Writes documents to the table, waits until all can be found, and compares the table with the index
entry by entry: exit code 1 on any difference.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from functions.adapters.dynamodb_values import to_dynamodb
from functions.core.batches import batches
from functions.core.identity import DocumentId, row_key
from functions.core.lane import PRIORITIES, Lane
from functions.core.ledger_row import LedgerRow, Status
from local.stack import local_stack
from ops.demo.provider import Provider
from ops.deployment import Deployment
from ops.stack import local_deployment
from ops.verification import differences

DOCUMENTS = 2000
BATCH_WRITE_LIMIT = 25
LOOK_SECONDS = 1.0
STALL_SECONDS = 120.0
WORDS = 40  # of two to three tokens: a document of one chunk
SHOWN_DIFFERENCES = 20


class StalledError(Exception):
    """No document was completed for a long time."""


@dataclass(frozen=True)
class Figures:
    """What a run came to."""

    documents: int
    lane: Lane
    write_seconds: float
    seconds: float  # from the first write until the last document is completed
    freshness_seconds: Sequence[float]
    chunks: int
    paid: int
    requests: int
    differences: Sequence[str]

    def lines(self) -> Iterator[str]:
        """Write the figures for people."""
        p50, p95 = percentile(self.freshness_seconds, 50), percentile(self.freshness_seconds, 95)
        yield f"{self.documents:,} documents through the {self.lane} lane, hashed vectors"
        yield f"  written     {self.documents / self.write_seconds:8.1f} documents/s"
        rate = self.documents / self.seconds
        yield f"  indexed     {rate:8.1f} documents/s, all after {self.seconds:.1f} s"
        yield f"  freshness   p50 {p50:.2f} s, p95 {p95:.2f} s, from queued to completed"
        yield f"  provider    {self.requests:,} requests, {self.paid:,} of {self.chunks:,} chunks"
        yield f"  differences {len(self.differences)} between table, ledger and index"
        yield from (f"    {one}" for one in self.differences[:SHOWN_DIFFERENCES])


def measure(
    deployment: Deployment,
    provider: Provider,
    *,
    documents: int,
    lane: Lane,
    say: Callable[[str], None],
) -> Figures:
    """Write the documents, wait for all of them, compare."""
    run = f"load-{time.time_ns()}"
    names = [f"{run}-{number}" for number in range(documents)]
    paid, requests = provider.chunks_paid(), provider.requests()
    began = time.monotonic()
    _write(deployment, names, lane)
    written = time.monotonic()
    rows = _wait(deployment, names, say)
    seconds = time.monotonic() - began
    return Figures(
        documents=documents,
        lane=lane,
        write_seconds=written - began,
        seconds=seconds,
        freshness_seconds=[
            ((row.outcome.completed_ms or 0) - row.queued_ms) / 1000 for row in rows
        ],
        chunks=sum(row.indexed.chunks_total for row in rows),
        paid=provider.chunks_paid() - paid,
        requests=provider.requests() - requests,
        differences=differences(deployment),
    )


def percentile(values: Sequence[float], share: int) -> float:
    """Return the value that so many percent do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def _write(deployment: Deployment, names: Sequence[str], lane: Lane) -> None:
    table = deployment.source(None).table
    client = deployment.client("dynamodb")
    for part in batches(names, BATCH_WRITE_LIMIT):
        left: Any = {table: [{"PutRequest": {"Item": _item(name, lane)}} for name in part]}
        while left:
            left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]


def _item(name: str, lane: Lane) -> dict[str, Any]:
    words = random.Random(name)
    text = " ".join(f"word{words.randrange(5000)}" for _ in range(WORDS))
    return to_dynamodb({"id": name, "title": name, "body": text, "priority": str(lane)})


def _wait(
    deployment: Deployment, names: Sequence[str], say: Callable[[str], None]
) -> list[LedgerRow]:
    """Return the completed rows; ask only for those that were open the last time."""
    source, target = deployment.source(None), deployment.target(None)
    waiting = {row_key(target.name, source.name, DocumentId(name)) for name in names}
    completed: list[LedgerRow] = []
    moved = time.monotonic()
    while waiting:
        rows = deployment.ledger.read(waiting).values()
        done = [row for row in rows if row.status is Status.COMPLETED]
        if done:
            moved = time.monotonic()
            completed += done
            waiting -= {row.row_key for row in done}
            say(f"  {len(completed):,} of {len(names):,} completed")
        elif time.monotonic() - moved > STALL_SECONDS:
            raise StalledError(f"{len(waiting):,} documents do not complete: {waiting.pop()}")
        time.sleep(LOOK_SECONDS)
    return completed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run on a stack of its own; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("documents", nargs="?", type=int, default=DOCUMENTS)
    parser.add_argument("--lane", type=Lane, choices=PRIORITIES, default=Lane.NORMAL)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        # OpenSearch runs as a user of its own.
        Path(name).chmod(0o755)
        with local_stack(Path(name), log=_say, vectors="hashed", in_memory=True) as stack:
            figures = measure(
                local_deployment(stack.endpoint_url),
                Provider(stack.model_origin),
                documents=chosen.documents,
                lane=chosen.lane,
                say=_say,
            )
    for line in figures.lines():
        _say(line)
    return 1 if figures.differences else 0


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
