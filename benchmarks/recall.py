"""How much does each compression of the vectors find, and how much room does it take?

Fills an index of OpenSearch for each, asks it as a search does, with and without a filter, and
compares the ten best documents with those of an exact search over the same vectors. The vectors are
made up: clusters whose directions have unequal weights, none along one dimension, as those of texts
have; the chunks of a document are near each other.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_index import OpenSearchIndex
from functions.adapters.opensearch_search import OpenSearchSearch
from functions.core.batches import batches
from functions.core.entry import Chunk, Entry
from functions.core.failure import Failure
from functions.core.filters import conditions
from functions.core.identity import DocumentId
from functions.core.search import Question
from functions.core.settings import MetadataType, VectorCompression
from functions.index_setup.ensure import IndexSpec, ensure_index
from local.aws_client import REGION
from local.engines.engine import launch, place_for, wait_until_ready
from local.engines.java import choose_java
from local.engines.opensearch import OpenSearch
from local.engines.start import fetch_engines
from local.processes import Processes

DIMENSIONS = 384
METADATA: dict[str, MetadataType] = {"group": "long"}
CLUSTERS = 500
MOST = 10
GOAL = 0.97
HELD: tuple[VectorCompression, ...] = ("none", "4x")
GROUPS = 20  # a filter by one of them leaves every twentieth document
WORDS = 20_000
CHUNK_WORDS = 60
BATCH_ENTRIES = 50
TRIES = 20
LOOK_SECONDS = 2.0
# https://lucene.apache.org/core/10_4_0/core/org/apache/lucene/codecs/lucene104/package-summary.html
WHOLE_VECTORS = "vec"


@dataclass(frozen=True)
class Collection:
    """Documents with their chunks' vectors, and queries near some of them."""

    vectors: NDArray[np.float32]  # by document, chunk and dimension
    queries: NDArray[np.float32]

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        return np.arange(len(self.vectors)) % GROUPS

    def best(self, query: NDArray[np.float32], group: int | None = None) -> set[str]:
        """Return the documents with the nearest chunks, by looking at all."""
        scores = (self.vectors @ query).max(axis=1)
        if group is not None:
            scores = np.where(self.groups == group, scores, -2)
        return {str(number) for number in np.argsort(-scores)[:MOST]}


@dataclass(frozen=True)
class Figures:
    """What one compression came to."""

    compression: VectorCompression
    recall: float
    recall_filtered: float
    milliseconds: float
    searched_bytes: float
    disk_bytes: float

    @property
    def is_good(self) -> bool:
        """Return whether it finds what it must; of the others the figures are only shown."""
        return self.compression not in HELD or min(self.recall, self.recall_filtered) >= GOAL

    def line(self) -> str:
        """Write the figures as a row."""
        return (
            f"{self.compression:>11}  {self.recall:9.3f}  {self.recall_filtered:13.3f}"
            f"  {self.milliseconds:10.1f}  {self.searched_bytes:14,.0f}  {self.disk_bytes:10,.0f}"
        )


HEADER = (
    f"{'compression':>11}  {'recall@10':>9}  {'with a filter':>13}  {'p95 in ms':>10}"
    f"  {'searched bytes':>14}  {'disk bytes':>10}"
)


def make_collection(documents: int, chunks: int, queries: int, seed: int = 7) -> Collection:
    """Draw documents around the centres of clusters, and queries around chunks of documents."""
    random = np.random.default_rng(seed)
    # A few directions carry most of what tells texts apart, and none of them is a dimension.
    directions, _ = np.linalg.qr(random.standard_normal((DIMENSIONS, DIMENSIONS)))
    weights = directions / np.sqrt(1 + np.arange(DIMENSIONS))[:, None]

    def drawn(*shape: int) -> NDArray[np.float32]:
        made: NDArray[np.float32] = (random.standard_normal(shape) @ weights).astype(np.float32)
        return made

    centres = drawn(CLUSTERS, DIMENSIONS)
    middles = centres[random.integers(CLUSTERS, size=documents)] + 0.6 * drawn(
        documents, DIMENSIONS
    )
    vectors = middles[:, None] + 0.5 * drawn(documents, chunks, DIMENSIONS)
    asked = vectors[random.integers(documents, size=queries), 0]
    return Collection(_normal(vectors), _normal(asked + 0.5 * drawn(queries, DIMENSIONS)))


def _normal(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    normal: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return normal


def measure(http: OpenSearchHttp, compression: VectorCompression, given: Collection) -> Figures:
    """Fill an index, ask it, and remove it."""
    alias = f"recall-{compression}"
    spec = IndexSpec(alias, "none", DIMENSIONS, METADATA, compression=compression)
    ensure_index(spec, OpenSearchAdmin(http))
    fill(OpenSearchIndex(http, alias), given)
    merge(http, alias)
    times: list[float] = []
    groups = [int(number % GROUPS) for number in range(len(given.queries))]
    whole = [_share(http, alias, given, query, None, times) for query in given.queries]
    filtered = [
        _share(http, alias, given, query, group, times)
        for query, group in zip(given.queries, groups, strict=True)
    ]
    sizes = _sizes(http, alias)
    vectors = given.vectors.shape[0] * given.vectors.shape[1]
    searched = sum(size for name, size in sizes.items() if name.startswith("ve"))
    if compression != "none":
        searched -= sizes[WHOLE_VECTORS]  # these stay on disk
    http.call("DELETE", spec.index)
    return Figures(
        compression=compression,
        recall=statistics.mean(whole),
        recall_filtered=statistics.mean(filtered),
        milliseconds=1000 * statistics.quantiles(times, n=20)[-1],
        searched_bytes=searched / vectors,
        disk_bytes=sum(sizes.values()) / vectors,
    )


def _share(
    http: OpenSearchHttp,
    alias: str,
    given: Collection,
    query: NDArray[np.float32],
    group: int | None,
    times: list[float],
) -> float:
    tests = () if group is None else conditions([f"group={group}"], (), METADATA)
    question = Question("knn", vector=query, conditions=tests, most=MOST)
    began = time.monotonic()
    hits = OpenSearchSearch(http).ask(alias, question)
    times.append(time.monotonic() - began)
    return len(given.best(query, group) & {hit.document_id for hit in hits}) / MOST


def fill(index: OpenSearchIndex, given: Collection) -> None:
    """Write all entries."""
    for numbers in batches(range(len(given.vectors)), BATCH_ENTRIES):
        entries = [_entry(number, given) for number in numbers]
        for _ in range(TRIES):
            written = index.write(entries, searchable_now=False)
            # A busy machine may answer late; what it took before it answers with a conflict.
            wrong = {one for one in written.values() if isinstance(one, Failure)}
            if not wrong:
                break
        else:
            raise SystemExit(f"recall: OpenSearch did not take all: {wrong}")


def _entry(number: int, given: Collection) -> Entry:
    return Entry(
        source="made-up",
        document_id=DocumentId(str(number)),
        version=1,
        content_hash="",
        type="document",
        metadata={"group": int(given.groups[number])},
        chunks=tuple(
            Chunk(words_of(number, place), str(place), one)
            for place, one in enumerate(given.vectors[number])
        ),
        written_ms=0,
        model="",
    )


def words_of(number: int, place: int) -> str:
    """Make up a chunk's text: common words and rare ones, the same for the same chunk."""
    random = Random(f"{number}.{place}")
    return " ".join(f"w{int(random.paretovariate(0.5)) % WORDS}" for _ in range(CHUNK_WORDS))


def merge(http: OpenSearchHttp, alias: str) -> None:
    """Make one segment of all, where a search finds least."""
    merge = {"max_num_segments": "1", "wait_for_completion": "false"}
    task = http.call("POST", f"{alias}/_forcemerge", query=merge)["task"]
    while not http.call("GET", f"_tasks/{task}")["completed"]:
        time.sleep(LOOK_SECONDS)
    for action in ("_flush", "_refresh"):
        http.call("POST", f"{alias}/{action}")


def _sizes(http: OpenSearchHttp, alias: str) -> dict[str, int]:
    """Return the bytes on disk by what the files hold."""
    query = {"include_segment_file_sizes": "true"}
    found: dict[str, Any] = http.call("GET", f"{alias}/_stats/segments", query=query)
    sizes = found["_all"]["primaries"]["segments"]["file_sizes"]
    return {name: int(one["size_in_bytes"]) for name, one in sizes.items()}


@contextmanager
def running_opensearch(compression: VectorCompression = "none") -> Iterator[OpenSearchHttp]:
    """Run a node of OpenSearch with nothing in it, as a stage with such vectors does."""
    engine, processes = OpenSearch(maps_files=compression != "32x"), Processes()
    with tempfile.TemporaryDirectory() as folder:
        try:
            place = place_for(engine.key, Path(folder), in_memory=True)
            started = launch(engine, fetch_engines(print), choose_java(), place, processes)
            wait_until_ready([started], log=print)
            yield OpenSearchHttp(started.url, credentials=None, region=REGION)
        finally:
            processes.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each compression and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=5, help="of each document")
    parser.add_argument("--queries", type=int, default=200)
    known = get_args(VectorCompression)
    parser.add_argument("--only", choices=known, help="one compression; left out: each")
    options = parser.parse_args(arguments)
    given = make_collection(options.documents, options.chunks, options.queries)
    print(f"{options.documents * options.chunks:,} vectors of {DIMENSIONS} dimensions")
    found = []
    for compression in [options.only] if options.only else known:
        with running_opensearch(compression) as http:
            found.append(measure(http, compression, given))
        print(f"{HEADER}\n{found[-1].line()}", flush=True)
    low = [one.compression for one in found if not one.is_good]
    print(f"goal: at least {GOAL} with {' and '.join(HELD)}{f'; WRONG: {low}' if low else ''}")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
