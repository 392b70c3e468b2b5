"""LEDGER -> LANES: wiring. Called by the clock with {"job": "due"} or {"job": "maintenance"}."""

import os
import time
from functools import cache
from typing import Any

import boto3

from functions.adapters.aws_clients import CLIENT_CONFIG
from functions.adapters.clock import now_ms
from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.dynamodb_cursors import DynamoDbCursors
from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.adapters.emf import FunctionMetrics
from functions.adapters.eventbridge_announcer import EventBridgeAnnouncer
from functions.adapters.opensearch_admin import OpenSearchAdmin
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_removal import OpenSearchRemoval
from functions.adapters.s3_failed_changes import S3FailedChanges
from functions.adapters.sqs_tasks import SqsTasks
from functions.adapters.telemetry import PowertoolsTelemetry, make_logger
from functions.core.ports import InvocationContext
from functions.core.settings import SweepSettings
from functions.enqueue.process import Enqueue
from functions.sweep.build import build_sweep
from functions.sweep.process import Sweep

logger = make_logger("sweep")
metrics = FunctionMetrics("sweep")


@cache
def sweep() -> Sweep:
    """Build the step once per process."""
    stage = os.environ.get("STAGE", "none")
    metrics.stage = stage
    settings = SweepSettings.from_environment()
    session = boto3.Session()
    dynamodb = session.client("dynamodb", config=CLIENT_CONFIG)
    ledger = DynamoDbLedger(dynamodb, settings.ledger_table)
    queue = SqsTasks(session.client("sqs", config=CLIENT_CONFIG), settings.queues)
    telemetry = PowertoolsTelemetry(logger, metrics)
    control = DynamoDbControl(dynamodb, settings.ledger_table)
    http = OpenSearchHttp.of(session, settings.index_endpoint)
    return build_sweep(
        ledger=ledger,
        queue=queue,
        indexes={one.name: OpenSearchRemoval(http, one.index) for one in settings.targets},
        admin=OpenSearchAdmin(http),
        control=control,
        announcer=EventBridgeAnnouncer(
            session.client("events", config=CLIENT_CONFIG), settings.event_bus
        ),
        cursors=DynamoDbCursors(dynamodb, settings.ledger_table),
        failed_changes=S3FailedChanges(
            session.client("s3", config=CLIENT_CONFIG),
            settings.failed_changes_bucket,
            settings.sources,
        ),
        enqueue=Enqueue(
            ledger=ledger,
            queue=queue,
            control=control,
            telemetry=telemetry,
            clock=now_ms,
            sources={source.name: source for source in settings.sources},
            targets={target.name: target for target in settings.targets},
        ),
        telemetry=telemetry,
        clock=now_ms,
        wait=time.sleep,
        sources=settings.sources,
        targets=settings.targets,
        stuck_hours=settings.stuck_hours,
        stage=stage,
    )


@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: InvocationContext) -> None:
    """Run the jobs that the event names."""
    sweep().run(
        str(event.get("job")),
        seconds_left=lambda: context.get_remaining_time_in_millis() / 1000,
    )
