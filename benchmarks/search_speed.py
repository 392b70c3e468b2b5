"""What does a search cost beside the bare query: choosing the index, checking, reading passages?

Fills an index of OpenSearch, and asks the same questions by turns as the raw query of
docs/searching.md does and through the step of the search function, with vectors that it keeps.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.recall import (
    DIMENSIONS,
    METADATA,
    Collection,
    fill,
    make_collection,
    running_opensearch,
    words_of,
)
from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_index import OpenSearchIndex
from functions.adapters.opensearch_search import OpenSearchSearch
from functions.core.search import Question, SearchRequest
from functions.core.search_shape import query_body
from functions.core.settings import SourceSettings, TargetSettings
from functions.index_setup.ensure import IndexSpec, ensure_index
from functions.search.process import Search

ALIAS = "speed"
MODEL = "made-up"
MOST = 10
GOAL = 1.3

Ask = Callable[[int], object]


def make_step(http: OpenSearchHttp, given: Collection, words: Sequence[str]) -> Search:
    """Build the step as its handler does, with the questions' vectors already kept."""
    target = TargetSettings(name="default", model=MODEL, dimensions=DIMENSIONS, index=ALIAS)
    source = SourceSettings(
        name="made-up",
        table="made-up",
        key=("id",),
        text="{text}",
        metadata=METADATA,
        targets=("default",),
    )
    vectors = dict(zip(words, given.queries, strict=True))
    return Search(
        index=OpenSearchSearch(http),
        vector_of=lambda _, asked: vectors[asked],
        why_stopped=lambda _: None,
        targets={"default": target},
        sources=[source],
    )


def ways(http: OpenSearchHttp, given: Collection, words: Sequence[str]) -> dict[str, Ask]:
    """Return each way to ask a question by its number."""
    step = make_step(http, given, words)
    bare = Question("knn", most=MOST)

    def by(mode: str) -> Ask:
        return lambda number: step.answer(
            SearchRequest.model_validate({"query": words[number], "mode": mode, "size": MOST})
        )

    return {
        "bare k-NN query": lambda number: http.call(
            "POST",
            f"{ALIAS}-read/_search",
            query_body(replace(bare, vector=given.queries[number])),
        ),
        **{f"search, {mode}": by(mode) for mode in ("knn", "text", "hybrid")},
    }


def measure(asked: dict[str, Ask], questions: int, rounds: int) -> dict[str, list[float]]:
    """Ask every question in every way by turns; the first round warms up and is left out."""
    times: dict[str, list[float]] = {name: [] for name in asked}
    for round_ in range(rounds + 1):
        for number in range(questions):
            for name, ask in asked.items():
                began = time.perf_counter()
                ask(number)
                spent = time.perf_counter() - began
                if round_:
                    times[name].append(1000 * spent)
    return times


def table(times: dict[str, list[float]]) -> list[str]:
    """Write p50 and p95 in milliseconds, each with its ratio to the bare query."""
    lines = [f"{'':>16}  {'p50 ms':>7}  {'ratio':>5}  {'p95 ms':>7}  {'ratio':>5}"]
    [base, *_] = [_quantiles(found) for found in times.values()]
    for name, found in times.items():
        middle, high = _quantiles(found)
        ratios = middle / base[0], high / base[1]
        lines.append(f"{name:>16}  {middle:7.1f}  {ratios[0]:5.2f}  {high:7.1f}  {ratios[1]:5.2f}")
    return lines


def _quantiles(times: Sequence[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(times, n=20)
    return statistics.median(times), cuts[-1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=5, help="of each document")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    given = make_collection(options.documents, options.chunks, options.queries)
    words = [" ".join(words_of(-number, 0).split()[:6]) for number in range(options.queries)]
    with running_opensearch() as http:
        ensure_index(IndexSpec(ALIAS, MODEL, DIMENSIONS, METADATA), OpenSearchAdmin(http))
        fill(OpenSearchIndex(http, ALIAS), given)
        http.call("POST", f"{ALIAS}/_refresh")
        times = measure(ways(http, given, words), options.queries, options.rounds)
    print(f"{options.documents * options.chunks:,} vectors of {DIMENSIONS} dimensions")
    print("\n".join(table(times)))
    print(f"goal: p95 of a search by k-NN at most {GOAL} times that of the bare query")
    return 0


if __name__ == "__main__":
    sys.exit(main())
