"""The queries of a search in OpenSearch, and how its hits are read. Pure.

Beside entry_shape, the only module that names fields of the index.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from functions.core.entry import Hit
from functions.core.filters import Condition, Test
from functions.core.search import MOST_RESULTS, Question

# The default finds too little: recall@10 of 0.32 to 0.93 by version, 0.99 with this.
EF_SEARCH = 200
# Which half of a hybrid query has found a passage; that of the meaning is shown first.
HALVES = ("knn", "text")
VECTORS = "chunks.vector"
# Each word is a clause. Each other filter, of which there are 100, is up to three: one of points,
# one of values, and its approximation. OpenSearch takes 1,024.
MOST_WORDS = 512
MOST_FILTER_WORDS = 200
# What follows is how OpenSearch's standard analyzer cuts a text, by UAX #29, or into more words.
LONGEST_WORD = 255
# A character of Chinese or Japanese is a word.
_ALONE = re.compile(
    "[\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00016fe0-\U00016fff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
# Thai, Lao, Myanmar, Khmer and their kin put no spaces between words: all up to one is a word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
    "\U00011700-\U0001174f]"
)
# Joiners of zero width count with their letter, as marks do.
_JOINERS = "\u200c\u200d"
# Of punctuation, what is an emoji too.
_EMOJI = "\u203c\u2049\u3030\u303d"


class NoPassageError(Exception):
    """A hit without a passage: hybrid queries give none before OpenSearch 3.0."""


def query_body(question: Question) -> dict[str, Any]:
    """Ask for the best documents, each with its best chunk."""
    shown = {
        "size": question.most,
        "_source": ["source", "document_id", "type", "metadata"],
    }
    match question.mode:
        case "knn":
            return shown | {"query": _nearest(question)}
        case "text":
            return shown | {"query": _matching(question)}
    # Both halves give as many candidates as all pages show; otherwise a document that only one
    # half has among its first few gets half a score.
    halves = {
        "queries": [_nearest(question), _matching(question)],
        "pagination_depth": MOST_RESULTS,
    }
    return shown | {
        "query": {"hybrid": halves},
        "search_pipeline": _normalised(question.weight),
    }


def exact_body(question: Question) -> dict[str, Any]:
    """Ask for the nearest documents by looking at every vector: slow, and nothing is missed."""
    script = {
        "lang": "knn",
        "source": "knn_score",
        "params": {
            "field": VECTORS,
            "query_value": _numbers(question),
            "space_type": "cosinesimil",
        },
    }
    scored = {"script_score": {"query": {"exists": {"field": VECTORS}}, "script": script}}
    nested = {"nested": {"path": "chunks", "score_mode": "max", "query": scored}}
    return {
        "size": question.most,
        "_source": ["document_id"],
        "query": {"bool": {"must": [nested], **_selected(question)}},
    }


def drawn_body(question: Question, seed: int) -> dict[str, Any]:
    """Ask for documents that chance selects; `chunk_count` reads how many chunks each has."""
    exists = {"exists": {"field": VECTORS}}
    # No vectors: OpenSearch 3 gives none of a nested hit.
    nested = {"nested": {"path": "chunks", "inner_hits": {"size": 0}, "query": exists}}
    drawn = {
        "query": {"bool": {"must": [nested], **_selected(question)}},
        "random_score": {"seed": seed, "field": "_seq_no"},
        "boost_mode": "replace",
    }
    return {
        "size": question.most,
        "_source": ["document_id"],
        "query": {"function_score": drawn},
    }


def chunk_count(found: Mapping[str, Any]) -> int:
    """Read one answer to `drawn_body`."""
    return int(found["inner_hits"]["chunks"]["hits"]["total"]["value"])


def middle_vector(entry: Mapping[str, Any]) -> list[float]:
    """Return the vector of a chunk from an entry that was read with its `VECTORS`."""
    chunks = entry["_source"]["chunks"]
    numbers: list[float] = chunks[len(chunks) // 2]["vector"]
    return numbers


def hit(found: Mapping[str, Any]) -> Hit:
    """Read one answer to `query_body`."""
    source = found["_source"]
    passage = _passage(found.get("inner_hits") or {})
    return Hit(
        source=source["source"],
        document_id=source["document_id"],
        type=source["type"],
        score=found["_score"],
        text=passage["text"],
        start=passage.get("start"),
        metadata=source.get("metadata") or {},
    )


def _passage(inner: Mapping[str, Any]) -> Mapping[str, Any]:
    for half in HALVES:
        for chunk in inner.get(half, {"hits": {"hits": []}})["hits"]["hits"]:
            source: dict[str, Any] = chunk["_source"]
            # Versions differ in whether the path of the chunk is repeated.
            return source if "text" in source else dict(source["chunks"])
    raise NoPassageError


def _numbers(question: Question) -> list[float]:
    return [] if question.vector is None else [float(number) for number in question.vector]


def _nearest(question: Question) -> dict[str, Any]:
    knn = {
        "vector": _numbers(question),
        "k": MOST_RESULTS,
        "method_parameters": {"ef_search": EF_SEARCH},
        # On fields of the parent: works alike on 2.x and 3.x.
        "filter": {"bool": _selected(question)},
    }
    return _chunks("knn", {"knn": {VECTORS: knn}})


def _matching(question: Question) -> dict[str, Any]:
    words = _chunks("text", {"match": {"chunks.text": {"query": first_words(question.words)}}})
    return {"bool": {"must": [words], **_selected(question)}}


def filter_words(conditions: Iterable[Condition]) -> int:
    """Count the words that filters by text have."""
    texts = [str(one.value) for cond in conditions for one in cond.tests if one.kind == "text"]
    return sum(1 for text in texts for _ in _word_starts(text))


def first_words(text: str) -> str:
    """Return the text up to the last word that OpenSearch takes."""
    beyond = next(islice(_word_starts(text), MOST_WORDS, None), None)
    return text if beyond is None else text[:beyond]


def _word_starts(text: str) -> Iterator[int]:
    former, length = "", 0
    for place, char in enumerate(text):
        kind = _kind(char)
        # A mark belongs to what stands before it; where nothing does, it is a word of its own.
        if kind == "mark" and former:
            kind = former
            is_new = length == LONGEST_WORD
        else:
            is_new = kind != former or kind == "alone" or length == LONGEST_WORD
        if kind and is_new:
            yield place
        former, length = kind, 1 if is_new else length + 1


def _kind(char: str) -> str:
    """Tell which characters make a word together; "": none does with this one."""
    category = unicodedata.category(char)
    if category[0] == "M" or char in _JOINERS:
        return "mark"
    if char.isspace() or (category[0] == "P" and char != "_" and char not in _EMOJI):
        return ""
    if char.isalnum() or char == "_":
        if _ALONE.match(char):
            return "alone"
        return "unspaced" if _UNSPACED.match(char) and not char.isdecimal() else "spaced"
    return "" if char.isascii() else "alone"


def _chunks(name: str, query: dict[str, Any]) -> dict[str, Any]:
    inner = {"name": name, "size": 1, "_source": ["chunks.text", "chunks.start"]}
    nested = {"path": "chunks", "score_mode": "max", "inner_hits": inner, "query": query}
    return {"nested": nested}


def _normalised(weight: float) -> dict[str, Any]:
    processor = {
        "normalization": {"technique": "min_max"},
        "combination": {
            "technique": "arithmetic_mean",
            "parameters": {"weights": [weight, 1 - weight]},
        },
    }
    return {"phase_results_processors": [{"normalization-processor": processor}]}


def _selected(question: Question) -> dict[str, Any]:
    """Select by everything that is no matter of degree; never a deleted document."""
    terms: list[dict[str, Any]] = [{"term": {"deleted": False}}]
    if question.sources:
        terms.append({"terms": {"source": list(question.sources)}})
    terms += [_any_of(one) for one in question.conditions if not one.negated]
    refused = [_any_of(one) for one in question.conditions if one.negated]
    return {"filter": terms, "must_not": refused} if refused else {"filter": terms}


def _any_of(condition: Condition) -> dict[str, Any]:
    clauses = [_clause(test) for test in condition.tests]
    if len(clauses) == 1:
        return clauses[0]
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _clause(test: Test) -> dict[str, Any]:
    field = f"metadata.{test.field}"
    if test.value is not None:
        if test.kind == "text":
            return {"match": {field: {"query": test.value, "operator": "and"}}}
        return {"term": {field: test.value}}
    bounds: dict[str, Any] = {"format": "epoch_millis"} if test.kind == "date" else {}
    if test.low is not None:
        bounds["gte" if test.with_low else "gt"] = test.low
    if test.high is not None:
        bounds["lte" if test.with_high else "lt"] = test.high
    return {"range": {field: bounds}}
