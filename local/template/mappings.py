"""AWS::Lambda::EventSourceMapping -> what the runner polls. Defaults are those of Lambda.

https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
"""

from collections.abc import Mapping
from typing import Any

from local.specs import QueueMappingSpec, StreamMappingSpec
from local.template.intrinsics import TemplateError

_QUEUE_BATCH = 10
_STREAM_BATCH = 100
_FOR_EVER = -1
_REPORTS = "ReportBatchItemFailures"


def reads_a_queue(properties: Mapping[str, Any]) -> bool:
    """Tell a mapping from a queue from one from a stream."""
    service = _service(properties["EventSourceArn"])
    if service not in ("sqs", "dynamodb"):
        raise TemplateError(f"an event source mapping reads from {service}: not known here")
    return service == "sqs"


def queue_mapping_spec(mapping_id: str, properties: Mapping[str, Any]) -> QueueMappingSpec:
    """Read a mapping from a queue."""
    limit = properties.get("ScalingConfig", {}).get("MaximumConcurrency")
    return QueueMappingSpec(
        mapping_id=mapping_id,
        function=_last(properties["FunctionName"]),
        queue=_last(properties["EventSourceArn"]),
        batch_size=int(properties.get("BatchSize", _QUEUE_BATCH)),
        window_seconds=int(properties.get("MaximumBatchingWindowInSeconds", 0)),
        max_concurrency=None if limit is None else int(limit),
        reports_failures=_REPORTS in properties.get("FunctionResponseTypes", ()),
        enabled=bool(properties.get("Enabled", True)),
    )


def stream_mapping_spec(mapping_id: str, properties: Mapping[str, Any]) -> StreamMappingSpec:
    """Read a mapping from a table's stream."""
    return StreamMappingSpec(
        mapping_id=mapping_id,
        function=_last(properties["FunctionName"]),
        table=properties["EventSourceArn"].split("/")[1],
        batch_size=int(properties.get("BatchSize", _STREAM_BATCH)),
        window_seconds=int(properties.get("MaximumBatchingWindowInSeconds", 0)),
        starting_position=properties["StartingPosition"],
        parallelization_factor=int(properties.get("ParallelizationFactor", 1)),
        bisects=bool(properties.get("BisectBatchOnFunctionError", False)),
        max_retries=int(properties.get("MaximumRetryAttempts", _FOR_EVER)),
        max_age_seconds=int(properties.get("MaximumRecordAgeInSeconds", _FOR_EVER)),
        reports_failures=_REPORTS in properties.get("FunctionResponseTypes", ()),
        enabled=bool(properties.get("Enabled", True)),
        failure_bucket=_failure_bucket(properties),
    )


def _failure_bucket(properties: Mapping[str, Any]) -> str | None:
    on_failure = properties.get("DestinationConfig", {}).get("OnFailure", {})
    destination = on_failure.get("Destination")
    if destination is None:
        return None
    if _service(destination) != "s3":
        raise TemplateError(f"what failed goes to {destination}: only a bucket is known here")
    return _last(destination)


def _service(arn: str) -> str:
    return arn.split(":")[2]


def _last(arn_or_name: str) -> str:
    return arn_or_name.rpartition(":")[2]
