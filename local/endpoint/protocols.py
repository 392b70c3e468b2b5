"""Answers of our own in the shapes of AWS: JSON, REST JSON, and XML of the query protocol."""

import json
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from starlette.responses import JSONResponse, Response

from local.endpoint.messages import Request

REQUEST_ID = "00000000-0000-0000-0000-000000000000"
# In SQS's XML a list is its items, one after the other, each under this name.
_FLAT_LISTS = {"Results": "ListMessageMoveTasksResultEntry"}


class AwsError(Exception):
    """A refusal, to be sent in the protocol of the call."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


def parameters(request: Request) -> Mapping[str, Any]:
    """Return what a call was given; in the query protocol every value is text."""
    if not request.is_json:
        return request.form
    given = json.loads(request.body or b"{}")
    return given if isinstance(given, dict) else {}


def result(request: Request, fields: Mapping[str, Any]) -> Response:
    """Answer a call in the protocol in which it came."""
    if request.is_json:
        return json_answer(200, fields)
    metadata = {"RequestId": REQUEST_ID}
    parts = {f"{request.action}Result": fields, "ResponseMetadata": metadata}
    return _xml(200, request, f"{request.action}Response", parts)


def refusal(request: Request, error: AwsError) -> Response:
    """Return an error in the protocol in which the call came."""
    if request.is_json:
        return json_answer(
            error.status,
            {"__type": f"com.amazonaws.{request.service.name}#{error.code}", "message": str(error)},
            # SDKs that knew SQS before it spoke JSON look for the error under its old name.
            {"x-amzn-query-error": f"{error.code};Sender"},
        )
    if request.action:
        fields = {"Type": "Sender", "Code": error.code, "Message": str(error)}
        parts = {"Error": fields, "RequestId": REQUEST_ID}
        return _xml(error.status, request, "ErrorResponse", parts)
    fields = {"Type": "User", "Message": str(error)}
    return json_answer(error.status, fields, {"x-amzn-errortype": error.code})


def json_answer(
    status: int, fields: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with JSON."""
    return JSONResponse(fields, status, {"x-amzn-requestid": REQUEST_ID, **(headers or {})})


def _xml(status: int, request: Request, name: str, parts: Mapping[str, Any]) -> Response:
    root = ElementTree.Element(name, xmlns=request.service.namespace)
    for part, value in parts.items():
        _append(root, part, value)
    return Response(ElementTree.tostring(root), status, media_type="text/xml")


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
