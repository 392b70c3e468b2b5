"""Questions about the index, asked through a function of the stack.

A computer outside a VPC does not reach an index inside it, and no person needs rights on a domain.
"""

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.opensearch_http import OpenSearchError, unavailable
from functions.adapters.store_errors import DENIED
from functions.core.failure import Failure, FailureError, FailureKind


class IndexThroughFunction:
    """OpenSearch as commands see it: the function passes on what only reads."""

    def __init__(self, lambda_client: Any, function: str) -> None:
        self._lambda = lambda_client
        self._function = function

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a question, which is a POST request, and return OpenSearch's answer."""
        if method != "POST":
            raise ValueError(f"{method} is no question: commands send POST only")
        question = {"path": path, "body": body, "query": dict(query or {})}
        return understood(call_function(self._lambda, self._function, question))


def understood(answer: Mapping[str, Any]) -> Any:
    """Return OpenSearch's answer; raise what it refused, or why there is none."""
    match answer:
        case {"refused": {"status": int(status), "kind": str(kind), "reason": str(reason)}}:
            raise OpenSearchError(status, kind, reason)
        case {"failed": {"kind": str(kind), "message": str(message)}}:
            raise FailureError(Failure(FailureKind(kind), message))
    return answer["answer"]


def call_function(lambda_client: Any, function: str, question: Mapping[str, Any]) -> Any:
    """Return what a function of the stack answers."""
    try:
        answer = lambda_client.invoke(FunctionName=function, Payload=json.dumps(question).encode())
    except ClientError as error:
        message = f"the function {function} was not called: {error}"
        if error.response["Error"]["Code"] in DENIED:
            raise FailureError(Failure(FailureKind.STORE_DENIED, message)) from error
        raise unavailable(message) from error
    except BotoCoreError as error:
        raise unavailable(f"the function {function} did not answer: {error}") from error
    content = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        reason = content.get("errorMessage", "no reason given")
        raise unavailable(f"the function {function} failed: {reason}")
    return content
