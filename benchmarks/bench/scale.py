"""`make bench-scale`: does anything grow with what is there, from 1,000 documents to 100,000?

The same load of bulk documents is timed at each size, and after it what goes on by itself: the
minute's sweep, which has nothing to do, and a comparison of table and index. Vectors are small, so
that the machine's memory holds all of them.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.bench.results import Circumstances, keep
from benchmarks.bench.row import Row
from benchmarks.bench.site import Site
from benchmarks.bench.speed import warm_up
from benchmarks.bench.stack import running, say
from functions.core.lane import Lane
from local.template.stage import LocalModel
from ops.verification import verify

SIZES = (1_000, 10_000, 30_000, 100_000)
DIMENSIONS = 64
STRETCH = 1_000  # documents that are timed before each size is reached
# So many wait at most: written all at once, a load would be the stream's and not the lane's.
TOGETHER = 2_000
MOST_CHANGE = 0.2


@dataclass(frozen=True)
class Mark:
    """What was measured when so many documents were there."""

    documents: int
    per_second: float
    embed_megabytes: float
    sweep_seconds: float
    verify_seconds: float


def measure(site: Site, sizes: Sequence[int], stretch: int) -> list[Mark]:
    """Fill the table up to each size, and look."""
    marks: list[Mark] = []
    done = len(site.completed)
    for size in sizes:
        while done < size - stretch:
            part = min(TOGETHER, size - stretch - done)
            _load(site, done, part)
            done += part
        seconds = _load(site, done, stretch)
        done += stretch
        marks.append(
            Mark(
                documents=size,
                per_second=stretch / seconds,
                embed_megabytes=site.megabytes("embed"),
                sweep_seconds=_sweep(site),
                verify_seconds=_verify(site),
            )
        )
        say(f"{marks[-1]}")
    return marks


def _load(site: Site, first: int, number: int) -> float:
    names = [f"scale-{one:06}" for one in range(first, first + number)]
    began = time.monotonic()
    site.write(names, Lane.BULK)
    site.until_completed(names)
    return time.monotonic() - began


def _sweep(site: Site) -> float:
    began = time.monotonic()
    event = json.dumps({"job": "due"}).encode()
    if site.stack.runner.invoke(site.function("sweep").name, event).error:
        raise RuntimeError("the sweep failed, see its log")
    return time.monotonic() - began


def _verify(site: Site) -> float:
    began = time.monotonic()
    found = verify(site.deployment)
    if sum(found.counts.values()):
        raise RuntimeError(f"table and index differ: {found.counts}")
    return time.monotonic() - began


def rows(marks: Sequence[Mark]) -> list[Row]:
    """Compare the last size with the first one."""
    first, last = marks[0], marks[-1]
    against = f"itself at {first.documents:,} documents"

    def row(question: str, values: Sequence[float], unit: str, *, at_least: bool = False) -> Row:
        return Row(
            f"{question} at {last.documents:,} documents",
            values[-1] / values[0],
            "x",
            against,
            limit=1 - MOST_CHANGE if at_least else 1 + MOST_CHANGE,
            at_least=at_least,
            note=" / ".join(f"{one:.3g}" for one in values) + f" {unit}",
        )

    return [
        row("documents/s, bulk lane", [one.per_second for one in marks], "/s", at_least=True),
        row("memory of embed", [one.embed_megabytes for one in marks], "MB"),
        row("a sweep with nothing due", [one.sweep_seconds for one in marks], "s"),
        row(
            "verify, for each document",
            [1000 * one.verify_seconds / one.documents for one in marks],
            "ms",
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run on a stack of its own; print and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench.scale", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--stretch", type=int, default=STRETCH)
    parser.add_argument("--result", default="results-scale", help="name of the files")
    chosen = parser.parse_args(arguments)
    given, began = Circumstances.now(), time.monotonic()
    with running(LocalModel("text-embedding-3-small", DIMENSIONS)) as site:
        warm_up(site)
        # The first of each starts a process, or imports.
        _sweep(site)
        _verify(site)
        marks = measure(site, chosen.sizes, chosen.stretch)
    seconds = time.monotonic() - began
    kept = [asdict(one) for one in marks]
    for line in keep(chosen.result, rows(marks), given, seconds, marks=kept):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
