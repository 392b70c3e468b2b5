"""The query handler on the event of events/ and a real OpenSearch node."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.query import handler
from tests.handlers.conftest import Context, Surroundings, event


@pytest.fixture
def question(
    surroundings: Surroundings, opensearch_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """Return the event, about an index that exists."""
    monkeypatch.setenv("INDEX_ENDPOINT", opensearch_url)
    monkeypatch.setenv("INDEXES", json.dumps([surroundings.index]))
    handler.settings.cache_clear()
    handler.index.cache_clear()
    asked = event("11-query-count")
    yield {**asked, "path": asked["path"].replace("embedq-dev-default", surroundings.index)}
    handler.settings.cache_clear()
    handler.index.cache_clear()


def test_answer_of_opensearch_is_returned_as_it_is(question: dict[str, Any]) -> None:
    """R40: a count of an empty index."""
    answer = handler.lambda_handler(question, Context())

    assert answer["answer"]["count"] == 0


def test_what_opensearch_refuses_is_an_answer(question: dict[str, Any]) -> None:
    """R48: with status, kind and reason."""
    wrong = {**question, "body": {"query": {"no_such_query": {}}}}

    answer = handler.lambda_handler(wrong, Context())

    assert answer["refused"]["status"] == 400
    assert "no_such_query" in answer["refused"]["reason"]


def test_write_does_not_reach_the_index(
    question: dict[str, Any], surroundings: Surroundings
) -> None:
    """R84: it is refused before anything is sent."""
    write = {"path": f"{surroundings.index}/_delete_by_query", "body": {"query": {"match_all": {}}}}

    answer = handler.lambda_handler(write, Context())

    assert answer["refused"]["status"] == 403
    assert question["path"].startswith(surroundings.index)
