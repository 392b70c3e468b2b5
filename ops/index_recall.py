"""How many of the nearest documents the index finds: against a search that looks at every vector.

Vectors of the index itself ask, so that no model is needed; the document of each is left out.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from functions.core.search import Question
from functions.core.search_shape import (
    VECTORS,
    chunk_count,
    drawn_body,
    exact_body,
    middle_vector,
    query_body,
)
from ops.output import progress
from ops.quality import DEPTH, Interval, interval

if TYPE_CHECKING:
    from ops.deployment import Deployment

# Scores this near are equal: documents with the same text may come in any order.
SAME_SCORE = 1e-6
# An entry is read with all its vectors, through a function that answers with 6 MB at most.
READ_NUMBERS = 300_000
# Documents as near as the tenth, and its own.
EXACT_RESULTS = 5 * DEPTH


def index_recall(
    deployment: "Deployment", *, source: str, target: str, questions: int, seed: int
) -> Interval | None:
    """Return the share of the ten nearest documents that a search finds; None of too few."""
    drawn = Question("knn", sources=(source,), most=questions)
    most_chunks = READ_NUMBERS // deployment.targets[target].dimensions
    asked = [
        one
        for one in _hits(deployment, target, drawn_body(drawn, seed))
        if chunk_count(one) <= most_chunks
    ]
    shares = [
        share
        for one in progress(asked, "looking at every vector", len(asked))
        if (share := _share(deployment, target, source, one)) is not None
    ]
    return interval(shares) if shares else None


def _share(deployment: "Deployment", target: str, source: str, drawn: Any) -> float | None:
    import numpy as np

    [entry] = deployment.ask_index(
        target, "_mget", {"ids": [drawn["_id"]]}, {"_source_includes": VECTORS}
    )["docs"]
    if not entry["found"]:
        return None  # deleted meanwhile
    asked = Question("knn", vector=np.asarray(middle_vector(entry), np.float32), sources=(source,))
    own = drawn["_source"]["document_id"]
    nearest = query_body(replace(asked, most=DEPTH + 1))
    exact = exact_body(replace(asked, most=EXACT_RESULTS))
    found = _without(own, _hits(deployment, target, nearest))[:DEPTH]
    return share_found([name for name, _ in found], _without(own, _hits(deployment, target, exact)))


def share_found(found: Sequence[str], nearest: Sequence[tuple[str, float]]) -> float | None:
    """Return which share of the nearest was found, given them with their scores, best first."""
    if not nearest:
        return None
    wanted = min(DEPTH, len(nearest))
    least = nearest[wanted - 1][1] - SAME_SCORE
    near = {name for name, score in nearest if score >= least}
    return min(len(near & set(found)), wanted) / wanted


def _without(own: str, hits: Sequence[Any]) -> list[tuple[str, float]]:
    named = [(one["_source"]["document_id"], float(one["_score"])) for one in hits]
    return [(name, score) for name, score in named if name != own]


def _hits(deployment: "Deployment", target: str, body: dict[str, Any]) -> list[Any]:
    hits: list[Any] = deployment.ask_index(target, "_search", body)["hits"]["hits"]
    return hits
