"""The part of the Lambda API that is served here: Invoke, functions, event source mappings.

Mappings never reach moto, which would read the queues by itself and use up receives.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.responses import Response

from local.endpoint.function_api import FunctionList
from local.endpoint.messages import LAMBDA, Request
from local.endpoint.protocols import REQUEST_ID, AwsError, json_answer
from local.runner.invocation import PAYLOAD_LIMIT_BYTES, Invocation
from local.specs import QueueMappingSpec, StreamMappingSpec

_MAPPINGS = f"{LAMBDA.path}event-source-mappings"
_INVOKE = re.compile(rf"{LAMBDA.path}functions/([^/]+)/invocations")
_EVENT_LIMIT_BYTES = 1024 * 1024
_DEFAULT_PAGE = 100


@dataclass(frozen=True)
class MappingStatus:
    """A mapping and the state it is in."""

    mapping: QueueMappingSpec | StreamMappingSpec
    source_arn: str
    function_arn: str
    state: str  # Enabled, Disabling, Disabled or Enabling
    changed_at: float  # seconds since 1970
    last_result: str = "No records processed"


class Mappings(Protocol):
    """What runs the mappings."""

    def list(self) -> Sequence[MappingStatus]:
        """Return every mapping."""

    def get(self, mapping_id: str) -> MappingStatus | None:
        """Return one mapping; None if no mapping has this id."""

    def set_enabled(self, mapping_id: str, enabled: bool) -> MappingStatus | None:
        """Enable or disable a mapping; None if no mapping has this id."""


class Functions(Protocol):
    """What runs the functions."""

    def has(self, function: str) -> bool:
        """Return True if there is a function of this name."""

    def invoke(self, function: str, payload: bytes) -> Invocation:
        """Run a function and wait for its end."""

    def invoke_later(self, function: str, payload: bytes) -> None:
        """Run a function, with retries, and do not wait for it."""


class LambdaApi:
    """Answers as Lambda does; without functions and mappings it knows none."""

    def __init__(self) -> None:
        self.functions: Functions | None = None
        self.mappings: Mappings | None = None
        self.listed = FunctionList()

    def knows(self, request: Request) -> bool:
        """Return True for Invoke, calls on event source mappings, and questions about functions."""
        is_mapping = request.path.startswith(_MAPPINGS)
        return is_mapping or _is_invoke(request) or self.listed.knows(request)

    def answer(self, request: Request) -> Response:
        """Answer a call that it knows."""
        if _is_invoke(request):
            return self._invoke(request)
        if self.listed.knows(request):
            return json_answer(200, self.listed.answer(request))
        mapping_id = request.path.removeprefix(_MAPPINGS).strip("/")
        match (request.method, mapping_id):
            case ("GET", ""):
                return json_answer(200, self._page(request))
            case ("GET", _):
                return json_answer(200, self._described(mapping_id))
            case ("PUT", str()) if mapping_id:
                self._update(request, mapping_id)
                return json_answer(202, self._described(mapping_id))
        raise AwsError(
            "InvalidParameterValueException",
            "on one machine only the template makes and removes event source mappings",
        )

    def _invoke(self, request: Request) -> Response:
        # https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
        given = request.path.split("/")[3]
        # A name, a part of an ARN or a whole one, each with a version or an alias behind it.
        name = given.rpartition("function:")[2].partition(":")[0]
        functions = self.functions
        if functions is None or not functions.has(name):
            raise AwsError("ResourceNotFoundException", f"Function not found: {given}", status=404)
        kind = request.headers.get("x-amz-invocation-type", "RequestResponse")
        match kind:
            case "RequestResponse":
                return _result(functions.invoke(name, _payload(request, PAYLOAD_LIMIT_BYTES)))
            case "Event":
                functions.invoke_later(name, _payload(request, _EVENT_LIMIT_BYTES))
                return Response(status_code=202)
            case "DryRun":
                return Response(status_code=204)
        raise AwsError("InvalidParameterValueException", f"{kind} is no invocation type")

    def _page(self, request: Request) -> dict[str, Any]:
        function = request.query.get("FunctionName", "").rpartition(":")[2]
        source = request.query.get("EventSourceArn", "")
        wanted = [
            status
            for status in (self.mappings.list() if self.mappings else ())
            if function in ("", status.mapping.function) and source in ("", status.source_arn)
        ]
        first = int(request.query.get("Marker", "0"))
        end = first + int(request.query.get("MaxItems", _DEFAULT_PAGE))
        page: dict[str, Any] = {"EventSourceMappings": [describe(s) for s in wanted[first:end]]}
        return page | ({"NextMarker": str(end)} if end < len(wanted) else {})

    def _update(self, request: Request, mapping_id: str) -> None:
        given = json.loads(request.body or b"{}")
        others = sorted(set(given) - {"Enabled", "UUID"})
        if others:
            message = f"on one machine only Enabled can be changed, not {', '.join(others)}"
            raise AwsError("InvalidParameterValueException", f"{message}: change cdk.json instead")
        if "Enabled" in given and self.mappings:
            self.mappings.set_enabled(mapping_id, bool(given["Enabled"]))

    def _described(self, mapping_id: str) -> dict[str, Any]:
        status = self.mappings.get(mapping_id) if self.mappings else None
        if status is None:
            message = "The resource you requested does not exist."
            raise AwsError("ResourceNotFoundException", message, status=404)
        return describe(status)


def describe(status: MappingStatus) -> dict[str, Any]:
    """Describe a mapping as Lambda does."""
    mapping = status.mapping
    fields: dict[str, Any] = {
        "UUID": mapping.mapping_id,
        "BatchSize": mapping.batch_size,
        "MaximumBatchingWindowInSeconds": mapping.window_seconds,
        "EventSourceArn": status.source_arn,
        "FunctionArn": status.function_arn,
        "FunctionResponseTypes": ["ReportBatchItemFailures"] if mapping.reports_failures else [],
        "LastModified": status.changed_at,
        "LastProcessingResult": status.last_result,
        "State": status.state,
        "StateTransitionReason": "USER_INITIATED",
    }
    if isinstance(mapping, QueueMappingSpec):
        if mapping.max_concurrency is not None:
            fields["ScalingConfig"] = {"MaximumConcurrency": mapping.max_concurrency}
        return fields
    bucket = mapping.failure_bucket
    return fields | {
        "StartingPosition": mapping.starting_position,
        "ParallelizationFactor": mapping.parallelization_factor,
        "BisectBatchOnFunctionError": mapping.bisects,
        "MaximumRetryAttempts": mapping.max_retries,
        "MaximumRecordAgeInSeconds": mapping.max_age_seconds,
        "DestinationConfig": {
            "OnFailure": {"Destination": f"arn:aws:s3:::{bucket}"} if bucket else {}
        },
    }


def _is_invoke(request: Request) -> bool:
    return request.method == "POST" and _INVOKE.fullmatch(request.path) is not None


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


def _result(invocation: Invocation) -> Response:
    if invocation.is_throttled:
        raise AwsError("TooManyRequestsException", "Rate Exceeded.", status=429)
    headers = {"x-amzn-requestid": REQUEST_ID, "x-amz-executed-version": "$LATEST"}
    if invocation.error is not None:
        headers["x-amz-function-error"] = "Unhandled"
    return Response(invocation.payload, 200, headers, "application/json")
