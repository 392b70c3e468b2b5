"""Lambda's event source mappings: told and switched here, run by the runner.

They never reach moto, which would read the queues by itself and burn receives.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from local.endpoint.messages import Answer, Request
from local.endpoint.protocols import AwsError, json_answer
from local.specs import QueueMappingSpec, StreamMappingSpec

PATH = "/2015-03-31/event-source-mappings"
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
        """Return one mapping; None where there is none of this id."""

    def set_enabled(self, mapping_id: str, enabled: bool) -> MappingStatus | None:
        """Ask for a mapping to work or to rest; None where there is none of this id."""


def answer_mappings(request: Request, mappings: Mappings) -> Answer:
    """Answer ListEventSourceMappings, GetEventSourceMapping or UpdateEventSourceMapping."""
    mapping_id = request.path.removeprefix(PATH).strip("/")
    match (request.method, mapping_id):
        case ("GET", ""):
            return json_answer(200, _page(request, mappings))
        case ("GET", _):
            return json_answer(200, described(_found(mappings.get(mapping_id))))
        case ("PUT", str()) if mapping_id:
            return json_answer(202, described(_updated(request, mapping_id, mappings)))
        case _:
            raise AwsError(
                "InvalidParameterValueException",
                "on one machine the template alone makes and removes event source mappings",
            )


def described(status: MappingStatus) -> dict[str, Any]:
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


def _page(request: Request, mappings: Mappings) -> dict[str, Any]:
    function = request.query.get("FunctionName", "").rpartition(":")[2]
    source = request.query.get("EventSourceArn", "")
    wanted = [
        status
        for status in mappings.list()
        if function in ("", status.mapping.function) and source in ("", status.source_arn)
    ]
    first = int(request.query.get("Marker", "0"))
    end = first + int(request.query.get("MaxItems", _DEFAULT_PAGE))
    page: dict[str, Any] = {"EventSourceMappings": [described(s) for s in wanted[first:end]]}
    return page | ({"NextMarker": str(end)} if end < len(wanted) else {})


def _updated(request: Request, mapping_id: str, mappings: Mappings) -> MappingStatus:
    given = json.loads(request.body or b"{}")
    others = sorted(set(given) - {"Enabled", "UUID"})
    if others:
        message = f"on one machine only Enabled can be changed, not {', '.join(others)}"
        raise AwsError("InvalidParameterValueException", f"{message}: change cdk.json instead")
    if "Enabled" not in given:
        return _found(mappings.get(mapping_id))
    return _found(mappings.set_enabled(mapping_id, bool(given["Enabled"])))


def _found(status: MappingStatus | None) -> MappingStatus:
    if status is None:
        message = "The resource you requested does not exist."
        raise AwsError("ResourceNotFoundException", message, status=404)
    return status
