"""Search in memory: exact cosine, words that chunks share with the question, and both."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from functions.core.entry import Entry, Hit, Vector
from functions.core.filters import Condition, Test, milliseconds
from functions.core.search import MOST_RESULTS, Question

# What the last of all candidates has, as OpenSearch's normalisation leaves it.
LEAST_SHARE = 0.001


def find(entries: Iterable[Entry], question: Question) -> list[Hit]:
    """Return the best documents, best first."""
    selected = [one for one in entries if _is_selected(one, question)]
    halves = {
        "knn": lambda: _nearest(selected, question.vector),
        "text": lambda: _matching(selected, question.words),
    }
    if question.mode != "hybrid":
        return halves[question.mode]()[: question.most]
    return _mixed(halves["knn"](), halves["text"](), question.weight)[: question.most]


def _nearest(entries: Sequence[Entry], vector: "Vector | None") -> list[Hit]:
    assert vector is not None
    found = [
        _best(one, [(1 + _cosine(chunk.vector, vector)) / 2 for chunk in one.chunks])
        for one in entries
    ]
    return _in_order(found)


def _matching(entries: Sequence[Entry], words: str) -> list[Hit]:
    wanted = set(_words(words))
    found = [
        _best(one, [_overlap(wanted, _words(chunk.text)) for chunk in one.chunks])
        for one in entries
    ]
    return [hit for hit in _in_order(found) if hit.score > 0]


def _mixed(nearest: Sequence[Hit], matching: Sequence[Hit], weight: float) -> list[Hit]:
    """Join both by their shares of the best and the least score."""
    shares = [(_shares(nearest), weight), (_shares(matching), 1 - weight)]
    hits = {_key(hit): hit for hit in (*matching, *nearest)}
    scores = {key: sum(half.get(key, 0.0) * one for half, one in shares) for key in hits}
    return _in_order([replace(hits[key], score=score) for key, score in scores.items()])


def _shares(hits: Sequence[Hit]) -> dict[tuple[str, str], float]:
    scores = [hit.score for hit in hits]
    least, most = min(scores, default=0.0), max(scores, default=0.0)
    span = (most - least) or 1.0
    return {
        _key(hit): max((hit.score - least) / span, LEAST_SHARE) if most > least else 1.0
        for hit in hits
    }


def _key(hit: Hit) -> tuple[str, str]:
    return hit.source, hit.document_id


def _in_order(hits: Sequence[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: -hit.score)[:MOST_RESULTS]


def _best(entry: Entry, scores: Sequence[float]) -> Hit:
    best = max(range(len(scores)), key=scores.__getitem__)
    chunk = entry.chunks[best]
    return Hit(
        source=entry.source,
        document_id=entry.document_id,
        type=entry.type,
        score=scores[best],
        text=chunk.text,
        start=chunk.start,
        metadata=entry.metadata,
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _overlap(wanted: set[str], words: Sequence[str]) -> float:
    return len(wanted.intersection(words)) / float(len(words) + 1)


def _cosine(one: Vector, other: Vector) -> float:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other)) or 1.0
    return float(one @ other) / norms


def _is_selected(entry: Entry, question: Question) -> bool:
    if question.sources and entry.source not in question.sources:
        return False
    return all(_holds(entry.metadata, one) is not one.negated for one in question.conditions)


def _holds(metadata: Mapping[str, object], condition: Condition) -> bool:
    return any(
        _passes(value, test)
        for test in condition.tests
        for value in _values(metadata.get(test.field))
    )


def _values(held: object) -> Sequence[object]:
    """Match a list if any of its values does, as OpenSearch does."""
    if held is None:
        return ()
    return held if isinstance(held, list) else (held,)


def _passes(value: object, test: Test) -> bool:
    if test.value is not None:
        if test.kind == "text":
            return set(_words(str(test.value))) <= set(_words(str(value)))
        return value == test.value
    number = milliseconds(value) if test.kind == "date" else value
    if not isinstance(number, int | float):
        return False
    above = test.low is None or number > test.low or (test.with_low and number == test.low)
    below = test.high is None or number < test.high or (test.with_high and number == test.high)
    return above and below
