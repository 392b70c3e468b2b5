"""Searches an index of OpenSearch by its name, and tells which one stands behind a read alias."""

from typing import Any
from zlib import crc32

from functions.adapters.opensearch_http import (
    WHOLE,
    OpenSearchError,
    OpenSearchHttp,
    segment,
    unavailable,
)
from functions.core.entry import Hit
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ports import HybridMissingError
from functions.core.search import Question, ServedIndex
from functions.core.search_shape import NoPassageError, hit, query_body

BAD_REQUEST = 400
NOT_FOUND = 404
# What reading an answer raises that is not OpenSearch's, as that of a proxy.
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError)


class OpenSearchSearch:
    """Only reads."""

    def __init__(self, http: OpenSearchHttp) -> None:
        self._http = http

    def behind(self, alias: str) -> ServedIndex:
        """Return the index behind a read alias, and what its vectors are."""
        try:
            answer = self._http.call("GET", f"{segment(alias)}/_mapping")
        except OpenSearchError as error:
            if error.status == NOT_FOUND:
                message = f"OpenSearch has no alias {alias}: see docs/operations/index-was-lost.md"
                raise FailureError(Failure(FailureKind.CONFIGURATION, message)) from error
            raise unavailable(f"it answered {error.status} {error.kind}") from error
        try:
            metas = {name: found["mappings"].get("_meta", {}) for name, found in answer.items()}
            if len(metas) > 1:
                names = ", ".join(sorted(metas))
                message = (
                    f"the alias {alias} stands at several indexes: {names}. Remove all but one"
                )
                raise FailureError(Failure(FailureKind.CONFIGURATION, message))
            [(name, meta)] = metas.items()
            return ServedIndex(name, str(meta.get("model")), int(meta.get("dimensions", 0)))
        except UNREADABLE as error:
            raise unavailable("its answer is not that of an index") from error

    def ask(self, index: str, question: Question) -> list[Hit]:
        """Return the best documents, best first."""
        path, body = f"{segment(index)}/_search", query_body(question)
        # All pages of a search come from the same copies of the index: each has an order of its
        # own, as deleted entries still count in its scores, and it has made its own graph.
        copies = {"preference": str(crc32(question.words.encode()))}
        try:
            return _hits(self._http.call("POST", path, body, query=WHOLE | copies))
        except NoPassageError as error:
            if question.mode == "hybrid":
                raise HybridMissingError from error
            raise unavailable("it found no passages") from error
        except OpenSearchError as error:
            if question.mode == "hybrid" and error.status == BAD_REQUEST:
                raise HybridMissingError from error
            # The reason may quote the question: only its kind is kept.
            raise unavailable(f"it refused the search: {error.status} {error.kind}") from error


def _hits(answer: Any) -> list[Hit]:
    try:
        return [hit(found) for found in answer["hits"]["hits"]]
    except UNREADABLE as error:
        raise unavailable("its answer is not that of a search") from error
