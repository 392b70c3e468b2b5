"""STREAM -> QUEUE: the enqueue function and how Lambda reads each source's stream for it."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infrastructure.python_function import PythonFunction
from infrastructure.resource_names import pascal
from infrastructure.source_config import StreamConfig
from infrastructure.source_table import SourceTable
from infrastructure.stage_config import StageConfig

FOLDER = "enqueue"
TIMEOUT = Duration.seconds(60)
MEMORY_MB = 512
# A record that cannot be read is recorded by enqueue itself; what comes back here is an outage
# of DynamoDB or SQS, and retries last through it. What is an hour from being forgotten by the
# stream goes to the bucket.
RETRY_ATTEMPTS = 10_000
RECORD_AGE_SECONDS = 23 * 60 * 60


class EnqueueFunction(PythonFunction):
    """Turn changes into tasks."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: str,
        config: StageConfig,
        code: lambda_.Code,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(
            scope,
            id_,
            folder=FOLDER,
            stage=stage,
            config=config,
            code=code,
            environment=environment,
            timeout=TIMEOUT,
            memory_mb=MEMORY_MB,
        )
        self._enabled = config.enabled
        self.mappings: dict[str, lambda_.CfnEventSourceMapping] = {}

    def read(
        self, source: str, table: SourceTable, *, stream: StreamConfig, failed: s3.IBucket
    ) -> None:
        """Let Lambda read a source's stream; records that never succeed go to the bucket."""
        self.mappings[source] = lambda_.CfnEventSourceMapping(
            self,
            pascal(source, "mapping"),
            function_name=self.function.function_arn,
            event_source_arn=table.stream_arn,
            enabled=self._enabled,
            # LATEST would lose what is written between the mapping's creation and its first poll.
            starting_position="TRIM_HORIZON",
            batch_size=stream.batch_size,
            maximum_batching_window_in_seconds=stream.window_seconds,
            parallelization_factor=stream.parallelization,
            bisect_batch_on_function_error=True,
            maximum_retry_attempts=RETRY_ATTEMPTS,
            maximum_record_age_in_seconds=RECORD_AGE_SECONDS,
            function_response_types=["ReportBatchItemFailures"],
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(
                    destination=failed.bucket_arn
                )
            ),
            # Without them a record that went to the bucket shows in no metric.
            metrics_config=lambda_.CfnEventSourceMapping.MetricsConfigProperty(
                metrics=["EventCount"]
            ),
        )
