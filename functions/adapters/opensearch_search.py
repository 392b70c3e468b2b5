"""Searches an index of OpenSearch by its name, and tells which one stands behind a read alias."""

from functions.adapters.opensearch_http import OpenSearchError, OpenSearchHttp, segment, unavailable
from functions.core.entry import Hit
from functions.core.failure import Failure, FailureError, FailureKind
from functions.core.ports import HybridMissingError
from functions.core.search import Question, ServedIndex
from functions.core.search_shape import NoPassageError, hit, query_body

BAD_REQUEST = 400
NOT_FOUND = 404


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
                message = f"OpenSearch has no alias {alias}: deploy the stage again"
                raise FailureError(Failure(FailureKind.CONFIGURATION, message)) from error
            raise unavailable(f"it answered {error.status} {error.kind}") from error
        [(name, found)] = answer.items()
        meta = found["mappings"].get("_meta", {})
        return ServedIndex(name, str(meta.get("model")), int(meta.get("dimensions", 0)))

    def ask(self, index: str, question: Question) -> list[Hit]:
        """Return the best documents, best first."""
        try:
            answer = self._http.call("POST", f"{segment(index)}/_search", query_body(question))
            return [hit(found) for found in answer["hits"]["hits"]]
        except (OpenSearchError, NoPassageError) as error:
            is_refused = isinstance(error, NoPassageError) or error.status == BAD_REQUEST
            if question.mode == "hybrid" and is_refused:
                raise HybridMissingError from error
            # The reason may quote the question: only its kind is kept.
            status = "" if isinstance(error, NoPassageError) else f"{error.status} {error.kind}"
            raise unavailable(f"it refused the search: {status or 'no passages'}") from error
