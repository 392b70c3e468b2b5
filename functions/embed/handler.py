"""LANES -> INDEX: wiring and the partial batch response."""

import os
import random
import time
from functools import cache
from typing import Any

import boto3

from functions.adapters.aws_clients import CLIENT_CONFIG, ONCE_CONFIG
from functions.adapters.clock import now_ms
from functions.adapters.dynamodb_control import DynamoDbControl
from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.adapters.dynamodb_source import DynamoDbSource
from functions.adapters.emf import FunctionMetrics
from functions.adapters.eventbridge_announcer import EventBridgeAnnouncer
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_index import OpenSearchIndex
from functions.adapters.providers import make_embedder
from functions.adapters.s3_stash import S3Stash
from functions.adapters.secret import ApiKey
from functions.adapters.sqs_tasks import SqsTasks, parse_messages
from functions.adapters.telemetry import PowertoolsTelemetry, make_logger
from functions.core.ports import InvocationContext
from functions.core.settings import EmbedSettings
from functions.embed.build import build_embed
from functions.embed.process import Embed

logger = make_logger("embed")
metrics = FunctionMetrics("embed")


@cache
def embed() -> Embed:
    """Build the step once per process."""
    metrics.stage = os.environ.get("STAGE", "none")
    settings = EmbedSettings.from_environment()
    session = boto3.Session()
    dynamodb = session.client("dynamodb", config=CLIENT_CONFIG)
    sqs = session.client("sqs", config=CLIENT_CONFIG)
    events = session.client("events", config=CLIENT_CONFIG)
    secrets = session.client("secretsmanager", config=CLIENT_CONFIG)
    once = session.client("dynamodb", config=ONCE_CONFIG) if settings.target.budget else None
    http = OpenSearchHttp.of(session, settings.index_endpoint)
    return build_embed(
        source=DynamoDbSource(dynamodb),
        ledger=DynamoDbLedger(dynamodb, settings.ledger_table),
        queue=SqsTasks(sqs, {settings.target.name: settings.queues}),
        embedder=make_embedder(
            settings.target, ApiKey(secrets, settings.api_key_secret), client=session.client
        ),
        index=OpenSearchIndex(http, settings.target.index),
        reused=[OpenSearchIndex(http, one) for one in (settings.target.reused_index,) if one],
        stash=S3Stash(session.client("s3", config=CLIENT_CONFIG), settings.stash_bucket),
        control=DynamoDbControl(dynamodb, settings.ledger_table, once=once),
        announcer=EventBridgeAnnouncer(events, settings.event_bus),
        telemetry=PowertoolsTelemetry(logger, metrics),
        clock=now_ms,
        wait=time.sleep,
        jitter=random.random,
        sources=settings.sources,
        target=settings.target,
        completed_row_days=settings.retention.completed_rows,
        stage=os.environ.get("STAGE", "none"),
    )


@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: InvocationContext) -> dict[str, Any]:
    """Embed the documents of a queue batch, or answer a probe of the breaker."""
    step = embed()
    if "probe" in event:
        return dict(step.probe(event["probe"]))
    step.tools.telemetry.count("MessagesReceived", len(event["Records"]))
    failed = step.process(
        parse_messages(event["Records"]),
        seconds_left=lambda: context.get_remaining_time_in_millis() / 1000,
    )
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


if "AWS_LAMBDA_RUNTIME_API" in os.environ:
    # In Lambda, before the first event: a run that ends before its first call to SQS leaves its
    # messages hidden for six timeouts.
    embed()
