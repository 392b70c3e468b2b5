"""The queue in which the function backfill keeps what it goes on with, an errand a message."""

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from functions.core.lane import RETENTION_DAYS
from infrastructure.config.stage import StageConfig
from infrastructure.encryption import own_key
from infrastructure.function_table import FUNCTIONS
from infrastructure.names import errands_queue_name
from infrastructure.python_function import PythonFunction

# https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
VISIBILITY_PER_TIMEOUT = 6
# Segments that are scanned at the same time, over all jobs.
MAX_CONCURRENCY = 5


class Errands(Construct):
    """Carry errands. Nothing is lost with a message: the ledger's table says what is to be done."""

    def __init__(self, scope: Construct, id_: str, *, stage: str, config: StageConfig) -> None:
        super().__init__(scope, id_)
        key = own_key(self, config)
        timeout = FUNCTIONS["backfill"].timeout_seconds
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=errands_queue_name(stage),
            visibility_timeout=Duration.seconds(VISIBILITY_PER_TIMEOUT * timeout),
            retention_period=Duration.days(RETENTION_DAYS),
            encryption=sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=True,
        )

    def feed(self, backfill: PythonFunction, *, enabled: bool) -> lambda_.EventSourceMapping:
        """Let Lambda read the queue, one errand a call."""
        return lambda_.EventSourceMapping(
            backfill,
            "ErrandsMapping",
            target=backfill.function,
            event_source_arn=self.queue.queue_arn,
            enabled=enabled,
            batch_size=1,
            max_concurrency=MAX_CONCURRENCY,
        )
