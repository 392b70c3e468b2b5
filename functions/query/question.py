"""A question of a command about the index: passed on if it only reads an index of this stage."""

from collections.abc import Iterable, Mapping
from typing import Any

from functions.core.frozen import Frozen

# A refresh writes nothing: it lets a search find what was written a moment ago.
READS = ("_count", "_mget", "_refresh", "_search")


class Question(Frozen):
    """A POST request to OpenSearch."""

    path: str
    body: dict[str, Any] | None = None
    query: Mapping[str, str] = {}


def why_refused(question: Question, indexes: Iterable[str]) -> str | None:
    """Say why a question is not passed on; None if it is."""
    if question.path not in {f"{index}/{read}" for index in indexes for read in READS}:
        return f"{question.path} is not one of {', '.join(READS)} of an index of this stage"
    # Documents can be named with an index of their own, which the path does not show.
    if question.path.endswith("/_mget") and set(question.body or {}) != {"ids"}:
        return "_mget takes ids only"
    return None
