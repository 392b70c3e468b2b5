"""Recall and speed of a search, on fewer vectors than their own programs take."""

import statistics

from benchmarks import recall, search_speed
from benchmarks.bench.row import Row
from benchmarks.bench.site import Site
from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_index import OpenSearchIndex
from functions.index_setup.ensure import IndexSpec, ensure_index

CHUNKS = 5
QUERIES = 50
ROUNDS = 2
WORDS_ASKED = 6


def rows(site: Site, vectors: int) -> list[Row]:
    """Ask as `benchmarks.recall` and `benchmarks.search_speed` do."""
    given = recall.make_collection(vectors // CHUNKS, CHUNKS, QUERIES)
    found = recall.measure(site.http, "none", given)
    spec = IndexSpec(
        search_speed.ALIAS, search_speed.MODEL, recall.DIMENSIONS, metadata=recall.METADATA
    )
    ensure_index(spec, OpenSearchAdmin(site.http))
    recall.fill(OpenSearchIndex(site.http, search_speed.ALIAS), given)
    site.http.call("POST", f"{search_speed.ALIAS}/_refresh")
    words = [
        " ".join(recall.words_of(-number, 0).split()[:WORDS_ASKED]) for number in range(QUERIES)
    ]
    ways = search_speed.ways(site.http, given, words)
    times = search_speed.measure(ways, QUERIES, ROUNDS)
    bare, own = (_p95(times[name]) for name in ("bare k-NN query", "search, knn"))
    size = f"{vectors:,} vectors; 50,000: python -m benchmarks"
    return [
        Row(
            f"recall@10, {vectors:,} vectors",
            found.recall,
            "",
            f"exact search; {size}.recall",
            limit=recall.GOAL,
            at_least=True,
        ),
        Row(
            f"recall@10 with a filter, {vectors:,} vectors",
            found.recall_filtered,
            "",
            f"exact search; {size}.recall",
            limit=recall.GOAL,
            at_least=True,
        ),
        Row(
            f"search p95, {vectors:,} vectors",
            own / bare,
            "x",
            f"bare k-NN query: {bare:.1f} ms; {size}.search_speed",
            limit=search_speed.GOAL,
            note=f"{own:.1f} ms",
        ),
    ]


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]
