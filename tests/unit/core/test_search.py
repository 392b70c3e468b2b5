"""The cursor of a search: opaque, and good for one search and one index."""

import base64
import json
from typing import Any

import pytest
from pydantic import ValidationError

from functions.core.filters import conditions
from functions.core.search import (
    CursorError,
    Mode,
    PageStart,
    Question,
    SearchRequest,
    next_cursor,
    page_start,
)
from functions.core.search_shape import (
    MOST_FILTER_WORDS,
    MOST_WORDS,
    filter_words,
    first_words,
    query_body,
)

DAMAGED = "^the cursor is damaged: pass `next` of an answer as it is$"
OTHER_SEARCH = "^the cursor is that of another search or index: begin without one$"
FIRST = SearchRequest(query="a bird", filters=("year>=2024",))


def cursor_at(results: int, mode: Mode = "hybrid") -> str:
    return next_cursor(FIRST, "articles-1", PageStart(results, mode))


def second(**changes: object) -> SearchRequest:
    asked = FIRST.model_dump() | {"cursor": cursor_at(10)} | changes
    return SearchRequest.model_validate(asked)


def test_cursor_says_where_the_next_page_begins() -> None:
    """R51: also with another page size."""
    assert page_start(FIRST, "articles-1") == PageStart()
    assert page_start(second(), "articles-1") == PageStart(10, "hybrid")
    assert page_start(second(size=50), "articles-1").results == 10
    assert page_start(second(cursor=cursor_at(1, "text")), "articles-1") == PageStart(1, "text")


@pytest.mark.parametrize("before", ["hybrid", "knn", "text"])
@pytest.mark.parametrize("now", ["hybrid", "knn", "text"])
def test_pages_of_one_search_are_answered_in_one_mode(before: Mode, now: Mode) -> None:
    """R48 R51: each mode has its own order: results would be missing, and others come twice."""
    start = PageStart(10, before)

    if before == now:
        start.check(now)
    else:
        with pytest.raises(CursorError, match=f"answered by {before}, and now it is {now}: begin"):
            start.check(now)


@pytest.mark.parametrize(
    "changes", [{"query": "another"}, {"filters": ()}, {"mode": "text"}, {"min_score": 0.5}]
)
def test_cursor_of_another_search_is_refused(changes: dict[str, object]) -> None:
    """R51: its pages would have gaps."""
    with pytest.raises(CursorError, match=OTHER_SEARCH):
        page_start(second(**changes), "articles-1")


def test_cursor_of_another_index_is_refused() -> None:
    """R44: the read alias has moved between two pages."""
    with pytest.raises(CursorError, match=OTHER_SEARCH):
        page_start(second(), "articles-v2-1")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "%%%",
        "bm8=",
        *(
            base64.b64encode(text).decode()
            for text in (b"{}", b"[1]", b'{"start": Infinity, "mode": "knn", "search": "x"}')
        ),
    ],
)
def test_damaged_cursor_is_refused(cursor: str) -> None:
    """R51: whatever stands in it."""
    with pytest.raises(CursorError, match=DAMAGED):
        page_start(second(cursor=cursor), "articles-1")


def test_cursor_without_a_mode_goes_on_in_any() -> None:
    """R51 R55: a page that the version before has answered, while this one is deployed."""
    found = json.loads(base64.urlsafe_b64decode(second().cursor or ""))
    del found["mode"]
    former = base64.urlsafe_b64encode(json.dumps(found).encode()).decode()

    assert page_start(second(cursor=former), "articles-1") == PageStart(10, None)


@pytest.mark.parametrize("start", [-1, 0, 200, 10**9])
def test_cursor_never_leads_out_of_the_results(start: int) -> None:
    """R51: 200 at most."""
    found = json.loads(base64.urlsafe_b64decode(second().cursor or ""))
    forged = base64.urlsafe_b64encode(json.dumps(found | {"start": start}).encode()).decode()

    with pytest.raises(CursorError):
        page_start(second(cursor=forged), "articles-1")


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": " "},
        {"query": "x" * 8001},
        {"query": "a", "size": 0},
        {"query": "a", "size": 201},
        {"query": "a", "weight": 1.1},
        {"query": "a", "min_score": "nan"},
        {"query": "a", "min_score": float("inf")},
        {"query": "a", "mode": "semantic"},
        {"query": "a", "filter": ["a=b"]},
        {"query": "a", "filters": ["a=b"] * 51},
        {},
    ],
)
def test_wrong_request_is_refused_at_the_border(wrong: dict[str, object]) -> None:
    """R51: also a field that nobody knows, which would be a filter that is forgotten."""
    with pytest.raises(ValidationError):
        SearchRequest.model_validate(wrong)


def test_not_is_spelled_as_json_has_it() -> None:
    """R51: and as Python can have it."""
    assert SearchRequest.model_validate({"query": "a", "not": ["b=c"]}).without == ("b=c",)
    assert SearchRequest(query="a", without=("b=c",)).model_dump(by_alias=True)["not"] == ("b=c",)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("a short question", "a short question"),
        ("word " * MOST_WORDS, "word " * MOST_WORDS),
        ("word " * (MOST_WORDS + 1), "word " * MOST_WORDS),
        ("\u9e1f" * (MOST_WORDS + 1), "\u9e1f" * MOST_WORDS),
        ("word\u9e1f" * MOST_WORDS, "word\u9e1f" * (MOST_WORDS // 2)),
        ("\U0001f426" * (MOST_WORDS + 1), "\U0001f426" * MOST_WORDS),
        ("... " * 2000, "... " * 2000),
        # A mark counts with its letter: "a question in Hindi", with joiners, too.
        ("\u0939\u093f\u0928\u094d\u0926\u0940 " * MOST_WORDS,) * 2,
        ("\u0915\u094d\u200d\u0937 " * (MOST_WORDS + 1), "\u0915\u094d\u200d\u0937 " * MOST_WORDS),
        # Thai has no spaces between words; a line is a word, and another script begins a new one.
        ("\u0e20\u0e32\u0e29\u0e32\u0e17\u0e35\u0e48 " * MOST_WORDS,) * 2,
        ("\u0e17\u0e35\u0e48" * 2000,) * 2,
        ("\u0e17\u0e35\u0e48a" * MOST_WORDS, "\u0e17\u0e35\u0e48a" * (MOST_WORDS // 2)),
        ("\u201cword\u201d \u2014 " * MOST_WORDS,) * 2,
        ("\u3005" * (MOST_WORDS + 1), "\u3005" * MOST_WORDS),
        ("\u304b\u3099" * (MOST_WORDS + 1), "\u304b\u3099" * MOST_WORDS),
        ("#\ufe0f\u20e3" * (MOST_WORDS + 1), "#\ufe0f\u20e3" * MOST_WORDS + "#"),
        ("\u203c" * (MOST_WORDS + 1), "\u203c" * MOST_WORDS),
        # OpenSearch cuts a word without an end into pieces.
        ("x" * 8000, "x" * 8000),
    ],
)
def test_words_beyond_what_opensearch_takes_are_left_out(text: str, cut: str) -> None:
    """R48: the first ones say what is wanted; more are refused as a whole."""
    assert first_words(text) == cut


def clauses(query: Any) -> int:
    """Count the clauses of a query as Lucene does: a range is one of points, and one of values."""
    match query:
        case {"match": dict(fields)}:
            return sum(len(str(one["query"]).split()) for one in fields.values())
        case {"range": _}:
            return 2
        case {"term": _}:
            return 1
        case dict():
            return sum(map(clauses, query.values()))
        case list():
            return sum(map(clauses, query))
    return 0


def test_largest_question_is_one_that_opensearch_takes() -> None:
    """R48 R51: beyond 1,024 clauses it refuses the search, and the index would seem to fail."""
    wordy = f"summary={'w ' * MOST_FILTER_WORDS}"
    wanted, unwanted = ([f"year>={start + n}" for n in range(50)] for start in (1000, 3000))
    tests = conditions([wordy, *wanted[1:]], unwanted, {"summary": "text", "year": "long"})
    assert filter_words(tests) == MOST_FILTER_WORDS

    body = query_body(Question("text", words="word " * MOST_WORDS, conditions=tests))

    assert clauses(body["query"]) <= 1024
