"""Properties of a template's resources -> what one-machine mode makes and runs of them.

Defaults are those of Lambda:
https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from local.specs import (
    FunctionSpec,
    QueueMappingSpec,
    QueueSpec,
    ScheduleSpec,
    StreamMappingSpec,
    TableSpec,
)
from local.template.intrinsics import TemplateError

_TIMEOUT_SECONDS = 3
_MEMORY_MB = 128
_QUEUE_BATCH = 10
_STREAM_BATCH = 100
_FOR_EVER = -1
_REPORTS = "ReportBatchItemFailures"
_RATE = re.compile(r"rate\(([1-9][0-9]*) (minute|hour|day)(s?)\)")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}
_FUNCTION = re.compile(r"arn:[^:]+:lambda:[^:]*:[^:]*:function:([^:]+)")
# What CreateTable takes under the same name and in the same shape. Encryption, backups and tags
# mean nothing on one machine.
_TABLE_PROPERTIES = (
    "AttributeDefinitions",
    "BillingMode",
    "GlobalSecondaryIndexes",
    "KeySchema",
    "LocalSecondaryIndexes",
    "ProvisionedThroughput",
)


def table_spec(name: str, properties: Mapping[str, Any]) -> TableSpec:
    """Read a table, its indexes, its stream and its time to live."""
    create: dict[str, Any] = {"TableName": name}
    create |= {key: properties[key] for key in _TABLE_PROPERTIES if key in properties}
    if stream := properties.get("StreamSpecification"):
        # In a template the specification is there or not; the API wants it said.
        view = stream["StreamViewType"]
        create["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    ttl = properties.get("TimeToLiveSpecification", {})
    return TableSpec(name, create, ttl.get("AttributeName") if ttl.get("Enabled") else None)


def queue_spec(name: str, properties: Mapping[str, Any]) -> QueueSpec:
    """Read a queue: in a template its attributes are properties of the same names."""
    return QueueSpec(
        name,
        {
            key: _attribute(value)
            for key, value in properties.items()
            if key not in ("QueueName", "Tags")
        },
    )


def _attribute(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def function_spec(name: str, logical_id: str, properties: Mapping[str, Any]) -> FunctionSpec:
    """Read a function; its handler says which folder it runs."""
    handler = properties["Handler"]
    package, _, rest = handler.partition(".")
    if package != "functions" or "." not in rest:
        raise TemplateError(f"{logical_id}: handler {handler} is not functions.<folder>.<...>")
    variables = properties.get("Environment", {}).get("Variables", {})
    reserved = properties.get("ReservedConcurrentExecutions")
    return FunctionSpec(
        name=name,
        logical_id=logical_id,
        folder=rest.partition(".")[0],
        handler=handler,
        environment={key: str(value) for key, value in variables.items()},
        timeout_seconds=int(properties.get("Timeout", _TIMEOUT_SECONDS)),
        memory_mb=int(properties.get("MemorySize", _MEMORY_MB)),
        reserved_concurrency=None if reserved is None else int(reserved),
        log_group=properties.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{name}"),
    )


def reads_a_queue(properties: Mapping[str, Any]) -> bool:
    """Return whether a mapping reads a queue, not a stream."""
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


def schedule_specs(rule: str, properties: Mapping[str, Any]) -> list[ScheduleSpec]:
    """Read a rule on a schedule: one schedule for each of its targets.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
    """
    every_seconds = _seconds(rule, properties.get("ScheduleExpression"))
    enabled = properties.get("State", "ENABLED") == "ENABLED"
    return [
        ScheduleSpec(rule, _function(rule, target), every_seconds, _input(rule, target), enabled)
        for target in properties.get("Targets", ())
    ]


def _seconds(rule: str, expression: str | None) -> int:
    found = _RATE.fullmatch(expression or "")
    # EventBridge refuses rate(1 minutes) and rate(5 minute).
    if found is None or (found[1] == "1") == bool(found[3]):
        said = f"runs at {expression}" if expression else "has no ScheduleExpression"
        raise TemplateError(
            f"rule {rule} {said}: one-machine mode knows rate(1 minute), rate(5 minutes),"
            " hours and days"
        )
    return int(found[1]) * _SECONDS[found[2]]


def _function(rule: str, target: Mapping[str, Any]) -> str:
    found = _FUNCTION.fullmatch(target["Arn"])
    if found is None:
        raise TemplateError(f"rule {rule} fires {target['Arn']}: only a function can be fired here")
    return found[1]


def _input(rule: str, target: Mapping[str, Any]) -> str:
    if "Input" not in target:
        raise TemplateError(f"rule {rule} gives its target no Input: write one in the template")
    return str(target["Input"])
