"""TABLE -> LANES: wiring. Called by its own queue, an errand at a time, and by the clock."""

import os
import time
from functools import cache
from typing import Any

import boto3

from functions.adapters.aws_clients import CLIENT_CONFIG
from functions.adapters.clock import now_ms
from functions.adapters.dynamodb_jobs import DynamoDbJobs, DynamoDbProofs
from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.adapters.dynamodb_table import DynamoDbTable
from functions.adapters.emf import FunctionMetrics
from functions.adapters.opensearch_http import OpenSearchHttp
from functions.adapters.opensearch_reader import FailingCalls, OpenSearchReader
from functions.adapters.sqs_errands import SqsErrands
from functions.adapters.sqs_tasks import SqsTasks
from functions.adapters.telemetry import PowertoolsTelemetry, make_logger
from functions.backfill.build import Steps, build_backfill
from functions.core.errand import MalformedErrandError, ProofErrand, parse_errand
from functions.core.ports import InvocationContext
from functions.core.settings import BackfillSettings

# A message of a run that was killed comes again so long after the run's own end.
CRASH_NOTICED_SECONDS = 10

logger = make_logger("backfill")
metrics = FunctionMetrics("backfill")


@cache
def settings() -> BackfillSettings:
    """Read the environment once per process."""
    return BackfillSettings.from_environment()


@cache
def errands() -> SqsErrands:
    """Connect to the function's own queue once per process."""
    return SqsErrands(boto3.client("sqs", config=CLIENT_CONFIG), settings().errands_queue)


@cache
def steps() -> Steps:
    """Build the steps once per process."""
    metrics.stage = os.environ.get("STAGE", "none")
    known = settings()
    session = boto3.Session()
    dynamodb = session.client("dynamodb", config=CLIENT_CONFIG)
    calls = FailingCalls(OpenSearchHttp.of(session, known.index_endpoint))
    return build_backfill(
        table=DynamoDbTable(dynamodb),
        indexes={one.name: OpenSearchReader(calls, one.index) for one in known.targets},
        ledger=DynamoDbLedger(dynamodb, known.ledger_table),
        queue=SqsTasks(session.client("sqs", config=CLIENT_CONFIG), known.queues),
        jobs=DynamoDbJobs(dynamodb, known.ledger_table, kept_days=known.retention.jobs),
        proofs=DynamoDbProofs(dynamodb, known.ledger_table),
        errands=errands(),
        telemetry=PowertoolsTelemetry(logger, metrics),
        clock=now_ms,
        wait=time.sleep,
        sources=known.sources,
        targets=known.targets,
        verify=known.verify,
    )


@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: InvocationContext) -> None:
    """Go on with the errands of a queue batch, or do what the clock asks for."""

    def seconds_left() -> float:
        return context.get_remaining_time_in_millis() / 1000

    if "job" in event:
        steps().tick(str(event["job"]))
        return
    for record in event["Records"]:
        errands().hide(record["receiptHandle"], round(seconds_left()) + CRASH_NOTICED_SECONDS)
        try:
            errand = parse_errand(record["body"])
        except MalformedErrandError as error:
            # Acknowledged: it would come again for days.
            logger.error("message_malformed", extra={"reason": str(error)})
            continue
        try:
            steps().run(errand, seconds_left)
        except Exception:
            if isinstance(errand, ProofErrand):
                # The clock sends it each hour: while an index is down, there would be ever more.
                errands().forget(record["receiptHandle"])
            raise
