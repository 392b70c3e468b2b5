"""Lambda's Invoke: the runner runs the function, in a process as always.

https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
"""

import json
import re
from typing import Protocol

from local.endpoint.messages import Answer, Request
from local.endpoint.protocols import AwsError, json_answer
from local.runner.invocation import PAYLOAD_LIMIT_BYTES, Invocation

_PATH = re.compile(r"/2015-03-31/functions/([^/]+)/invocations")
_EVENT_LIMIT_BYTES = 1024 * 1024


class Functions(Protocol):
    """What runs the functions."""

    def has(self, function: str) -> bool:
        """Tell whether there is a function of this name."""

    def invoke(self, function: str, payload: bytes) -> Invocation:
        """Run a function and wait for its end."""

    def invoke_later(self, function: str, payload: bytes) -> None:
        """Run a function, with retries, and do not wait for it."""


def is_invoke(request: Request) -> bool:
    """Tell Invoke from the rest of the Lambda API."""
    return request.method == "POST" and _PATH.fullmatch(request.path) is not None


def answer_invoke(request: Request, functions: Functions) -> Answer:
    """Answer Invoke: at the end of the run, or at once where nobody waits for it."""
    name = _function(request, functions)
    kind = request.headers.get("x-amz-invocation-type", "RequestResponse")
    match kind:
        case "RequestResponse":
            return _result(functions.invoke(name, _payload(request, PAYLOAD_LIMIT_BYTES)))
        case "Event":
            functions.invoke_later(name, _payload(request, _EVENT_LIMIT_BYTES))
            return Answer(202, [])
        case "DryRun":
            return Answer(204, [])
    raise AwsError("InvalidParameterValueException", f"{kind} is no invocation type")


def _function(request: Request, functions: Functions) -> str:
    match = _PATH.fullmatch(request.path)
    assert match is not None
    # A name, a part of an ARN or a whole one, each with a version or an alias behind it.
    name = match[1].rpartition("function:")[2].partition(":")[0]
    if not functions.has(name):
        raise AwsError("ResourceNotFoundException", f"Function not found: {match[1]}", status=404)
    return name


def _payload(request: Request, limit_bytes: int) -> bytes:
    if len(request.body) > limit_bytes:
        raise AwsError(
            "RequestTooLargeException",
            f"Request must be smaller than {limit_bytes} bytes for the InvokeFunction operation",
            status=413,
        )
    payload = request.body or b"{}"
    try:
        json.loads(payload)
    except ValueError as error:
        message = f"Could not parse request body into json: {error}"
        raise AwsError("InvalidRequestContentException", message) from error
    return payload


def _result(invocation: Invocation) -> Answer:
    if invocation.is_throttled:
        raise AwsError("TooManyRequestsException", "Rate Exceeded.", status=429)
    answer = json_answer(200, {}, ("x-amz-executed-version", "$LATEST"))
    failed = [("x-amz-function-error", "Unhandled")] if invocation.error is not None else []
    return Answer(200, [*answer.headers, *failed], invocation.payload)
