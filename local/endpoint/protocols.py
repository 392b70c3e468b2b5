"""Answers of our own in the shapes of AWS: JSON, REST JSON, and XML of the query protocol."""

import json
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from local.endpoint.messages import Answer, Request

REQUEST_ID = "00000000-0000-0000-0000-000000000000"
_NAMESPACES = {
    "cloudformation": "http://cloudformation.amazonaws.com/doc/2010-05-15/",
    "sqs": "http://queue.amazonaws.com/doc/2012-11-05/",
}
# In SQS's XML a list is its items, one after the other, each under this name.
_FLAT_LISTS = {"Results": "ListMessageMoveTasksResultEntry"}


class AwsError(Exception):
    """A refusal, to be told in the protocol of the call."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


def speaks_json(request: Request) -> bool:
    """Tell the JSON protocol from the query protocol."""
    return "x-amz-target" in request.headers


def parameters(request: Request) -> Mapping[str, Any]:
    """Return what a call was given; in the query protocol every value is text."""
    if not speaks_json(request):
        return request.form
    given = json.loads(request.body or b"{}")
    return given if isinstance(given, dict) else {}


def result(request: Request, service: str, fields: Mapping[str, Any]) -> Answer:
    """Answer a call in the protocol in which it came."""
    if speaks_json(request):
        return json_answer(200, fields)
    response = ElementTree.Element(f"{request.action}Response", xmlns=_NAMESPACES[service])
    _append(response, f"{request.action}Result", fields)
    _append(response, "ResponseMetadata", {"RequestId": REQUEST_ID})
    return _xml(200, response)


def refusal(request: Request, service: str, error: AwsError) -> Answer:
    """Tell an error in the protocol in which the call came."""
    if speaks_json(request):
        return json_answer(
            error.status,
            {"__type": f"com.amazonaws.{service}#{error.code}", "message": str(error)},
            # SDKs that knew SQS before it spoke JSON look for the error under its old name.
            ("x-amzn-query-error", f"{error.code};Sender"),
        )
    if request.action:
        response = ElementTree.Element("ErrorResponse", xmlns=_NAMESPACES.get(service, ""))
        fields = {"Type": "Sender", "Code": error.code, "Message": str(error)}
        _append(response, "Error", fields)
        _append(response, "RequestId", REQUEST_ID)
        return _xml(error.status, response)
    return json_answer(
        error.status, {"Type": "User", "Message": str(error)}, ("x-amzn-errortype", error.code)
    )


def json_answer(status: int, fields: Mapping[str, Any], *headers: tuple[str, str]) -> Answer:
    """Answer with JSON."""
    kind = ("content-type", "application/json")
    return Answer(
        status, [kind, ("x-amzn-requestid", REQUEST_ID), *headers], json.dumps(fields).encode()
    )


def _append(parent: ElementTree.Element, name: str, value: Any) -> None:
    if isinstance(value, list) and name in _FLAT_LISTS:
        for item in value:
            _append(parent, _FLAT_LISTS[name], item)
        return
    element = ElementTree.SubElement(parent, name)
    if isinstance(value, Mapping):
        for key, item in value.items():
            _append(element, key, item)
    elif isinstance(value, list):
        for item in value:
            _append(element, "member", item)
    else:
        element.text = json.dumps(value) if isinstance(value, bool) else str(value)


def _xml(status: int, response: ElementTree.Element) -> Answer:
    return Answer(status, [("content-type", "text/xml")], ElementTree.tostring(response))
