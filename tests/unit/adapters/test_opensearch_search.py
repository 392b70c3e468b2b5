"""Searches of an index whose copies are not alike, and answers that are not those of an index."""

from collections.abc import Mapping
from typing import Any

import pytest

from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_search import OpenSearchSearch
from functions.core.failure import FailureError, FailureKind
from functions.core.search import Mode, Question

COPIES = (["a", "b", "c", "d"], ["d", "c", "b", "a"])


class TwoCopies(OpenSearchHttp):
    """A primary and its replica, which order alike hits otherwise.

    As in OpenSearch each search is answered by the next one, or by that of its preference.
    """

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9", credentials=None, region="us-east-1")
        self.searches = 0

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        assert (method, path) == ("POST", "articles-1/_search")
        self.searches += 1
        preferred = (query or {}).get("preference")
        number = self.searches if preferred is None else sum(preferred.encode())
        return {"hits": {"hits": [_hit(name) for name in COPIES[number % 2][: body["size"]]]}}


def _hit(name: str) -> dict[str, Any]:
    passage = {"hits": {"hits": [{"_source": {"text": "a bird"}}]}}
    source = {"source": "articles", "document_id": name, "type": "article"}
    return {"_score": 1.0, "_source": source, "inner_hits": {"text": passage}}


@pytest.mark.parametrize("mode", ["hybrid", "knn", "text"])
@pytest.mark.parametrize("words", ["a bird", "zwei V\u00f6gel", "a stone"])
def test_all_pages_of_a_search_are_answered_by_the_same_copy(mode: Mode, words: str) -> None:
    """R51: another copy has another order: results would be missing, and others come twice."""
    index = OpenSearchSearch(TwoCopies())

    first, second = (
        [one.document_id for one in index.ask("articles-1", Question(mode, words, most=most))]
        for most in (2, 4)
    )

    assert second[:2] == first


class Proxy(OpenSearchHttp):
    """What stands before OpenSearch, and answers in its place."""

    def __init__(self, answer: Any) -> None:
        super().__init__("http://127.0.0.1:9", credentials=None, region="us-east-1")
        self.answer = answer

    def call(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None
    ) -> Any:
        del method, path, body, query
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [{}, [], "ok", None, {"status": "ok"}, {"articles-1": {}}, {"hits": None}, {"hits": {}}],
)
def test_answer_that_is_not_that_of_an_index_is_no_error_of_the_function(answer: Any) -> None:
    """R51: an application is told that the index does not answer, and can try again."""
    index = OpenSearchSearch(Proxy(answer))

    with pytest.raises(FailureError) as behind:
        index.behind("articles-read")
    with pytest.raises(FailureError) as asked:
        index.ask("articles-1", Question("text", "a bird"))

    kinds = {one.value.failure.kind for one in (behind, asked)}
    assert kinds == {FailureKind.INDEX_UNAVAILABLE}
