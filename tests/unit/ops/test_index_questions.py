"""What a command makes of the function's answer."""

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from functions.adapters.opensearch_http import OpenSearchError
from functions.core.failure import FailureError, FailureKind
from ops.index_questions import IndexThroughFunction


class Answering:
    """Lambda with one answer for all questions."""

    def __init__(self, content: Any, **more: str) -> None:
        self._content = content
        self._more = more

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        if isinstance(self._content, Exception):
            raise self._content
        asked = {"function": FunctionName, **json.loads(Payload)}
        content = {"answer": asked} if self._content == "echo" else self._content
        return {"Payload": io.BytesIO(json.dumps(content).encode()), **self._more}


def ask(content: Any, **more: str) -> Any:
    index = IndexThroughFunction(Answering(content, **more), "embedq-query")
    return index.call("POST", "articles/_search", {"size": 1}, query={"a": "b"})


def test_function_is_asked_with_path_body_and_query() -> None:
    """R40: all that a question consists of."""
    assert ask("echo") == {
        "function": "embedq-query",
        "path": "articles/_search",
        "body": {"size": 1},
        "query": {"a": "b"},
    }


def test_refusal_of_opensearch_is_the_error_it_would_be_without_the_function() -> None:
    """R48: status and reason reach the command."""
    with pytest.raises(OpenSearchError, match="OpenSearch answered 400 parsing: no such field"):
        ask({"refused": {"status": 400, "kind": "parsing", "reason": "no such field"}})


def test_index_that_does_not_answer_is_the_failure_it_would_be_without_the_function() -> None:
    """R48: its kind stays."""
    with pytest.raises(FailureError, match="429") as caught:
        ask({"failed": {"kind": "index_busy", "message": "OpenSearch answered 429"}})

    assert caught.value.failure.kind is FailureKind.INDEX_BUSY


def test_function_that_fails_is_named_with_its_reason() -> None:
    """R48: such as an answer that is larger than Lambda passes on."""
    with pytest.raises(FailureError, match="the function embedq-query failed: too large"):
        ask({"errorMessage": "too large"}, FunctionError="Unhandled")


def test_right_that_is_missing_is_named() -> None:
    """R48: what to ask the administrator for."""
    denied: Any = {"Error": {"Code": "AccessDeniedException", "Message": "lambda:InvokeFunction"}}

    with pytest.raises(FailureError, match=r"embedq-query was not called: .*InvokeFunction"):
        ask(ClientError(denied, "Invoke"))


def test_function_that_does_not_answer_in_time_is_named() -> None:
    """R51: an application is told so as by any other failure, and not by one of botocore."""
    late = ReadTimeoutError(endpoint_url="https://lambda.eu-west-1.amazonaws.com")

    with pytest.raises(FailureError, match="embedq-query did not answer: Read timeout"):
        ask(late)


def test_only_questions_are_sent() -> None:
    """R84: no command writes to the index."""
    with pytest.raises(ValueError, match="DELETE is no question"):
        IndexThroughFunction(Answering("echo"), "embedq-query").call("DELETE", "articles/_doc/a")
