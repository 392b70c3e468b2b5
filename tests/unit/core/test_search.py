"""The cursor of a search: opaque, and good for one search and one index."""

import base64
import json

import pytest
from pydantic import ValidationError

from functions.core.search import CursorError, SearchRequest, next_cursor, page_start

DAMAGED = "^the cursor is damaged: pass `next` of an answer as it is$"
OTHER_SEARCH = "^the cursor is that of another search or index: begin without one$"
FIRST = SearchRequest(query="a bird", filters=("year>=2024",))


def second(**changes: object) -> SearchRequest:
    asked = FIRST.model_dump() | {"cursor": next_cursor(FIRST, "articles-1", 10)} | changes
    return SearchRequest.model_validate(asked)


def test_cursor_says_where_the_next_page_begins() -> None:
    """R51: also with another page size."""
    assert page_start(FIRST, "articles-1") == 0
    assert page_start(second(), "articles-1") == 10
    assert page_start(second(size=50), "articles-1") == 10
    assert page_start(second(cursor=next_cursor(FIRST, "articles-1", 1)), "articles-1") == 1


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
    ["", "%%%", "bm8=", base64.b64encode(b"{}").decode(), base64.b64encode(b"[1]").decode()],
)
def test_damaged_cursor_is_refused(cursor: str) -> None:
    """R51: whatever stands in it."""
    with pytest.raises(CursorError, match=DAMAGED):
        page_start(second(cursor=cursor), "articles-1")


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
