"""CONTROL -> MAPPINGS: wiring."""

import os
import random
from functools import cache
from typing import Any

import boto3

from functions.adapters.aws_clients import CLIENT_CONFIG
from functions.adapters.clock import now_ms
from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.emf import FunctionMetrics
from functions.adapters.lambda_mappings import PROBE_CONFIG, LambdaMappings, LambdaProber
from functions.adapters.telemetry import PowertoolsTelemetry, make_logger
from functions.breaker.process import Reconcile
from functions.core.ports import InvocationContext
from functions.core.settings import BreakerFunctionSettings

logger = make_logger("breaker")
metrics = FunctionMetrics("breaker")


@cache
def breaker() -> Reconcile:
    """Build the step once per process."""
    metrics.stage = os.environ.get("STAGE", "none")
    settings = BreakerFunctionSettings.from_environment()
    session = boto3.Session()
    dynamodb = session.client("dynamodb", config=CLIENT_CONFIG)
    return Reconcile(
        control=DynamoDbControl(dynamodb, settings.ledger_table),
        mappings=LambdaMappings(session.client("lambda", config=CLIENT_CONFIG)),
        prober=LambdaProber(session.client("lambda", config=PROBE_CONFIG)),
        telemetry=PowertoolsTelemetry(logger, metrics),
        clock=now_ms,
        jitter=random.random,
        targets=settings.targets,
    )


@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: InvocationContext) -> None:  # noqa: ARG001
    """Let the mappings follow the breakers; the event says nothing that the items do not."""
    breaker().run(seconds_left=lambda: context.get_remaining_time_in_millis() / 1000)
