"""STREAM -> LANES: wiring and the partial batch response."""

import os
from functools import cache
from typing import Any

import boto3

from functions.adapters.aws_clients import CLIENT_CONFIG
from functions.adapters.clock import now_ms
from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.adapters.dynamodb_stream import parse_records
from functions.adapters.emf import FunctionMetrics
from functions.adapters.sqs_tasks import SqsTasks
from functions.adapters.telemetry import PowertoolsTelemetry, make_logger
from functions.core.failure import FailureError
from functions.core.settings import EnqueueSettings
from functions.enqueue.process import Enqueue

logger = make_logger("enqueue")
metrics = FunctionMetrics("enqueue")


@cache
def enqueue() -> Enqueue:
    """Build the step once per process."""
    metrics.stage = os.environ.get("STAGE", "none")
    settings = EnqueueSettings.from_environment()
    dynamodb = boto3.client("dynamodb", config=CLIENT_CONFIG)
    return Enqueue(
        ledger=DynamoDbLedger(dynamodb, settings.ledger_table),
        queue=SqsTasks(boto3.client("sqs", config=CLIENT_CONFIG), settings.queues),
        control=DynamoDbControl(dynamodb, settings.ledger_table),
        telemetry=PowertoolsTelemetry(logger, metrics),
        clock=now_ms,
        sources={source.name: source for source in settings.sources},
        targets={target.name: target for target in settings.targets},
    )


@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    """Bring the changes of a stream batch into the lanes."""
    step = enqueue()
    step.telemetry.count("RecordsReceived", len(event["Records"]))
    changes, rejected = parse_records(event["Records"], step.sources.values())
    try:
        step.reject(rejected)
        failed = step.process(changes, trace_id=os.environ.get("_X_AMZN_TRACE_ID", ""))
    except FailureError as error:
        # From the first record on, all of them come again: what was done is done once.
        step.telemetry.event("batch_failed", failure=str(error))
        failed = [event["Records"][0]["dynamodb"]["SequenceNumber"]]
    return {"batchItemFailures": [{"itemIdentifier": number} for number in failed]}
