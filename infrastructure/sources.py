"""The user's table, made here or an existing one, and how Lambda reads its stream for enqueue."""

from dataclasses import dataclass

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infrastructure.config.source import SourceConfig
from infrastructure.config.stage import StageConfig
from infrastructure.encryption import table_encryption
from infrastructure.names import pascal
from infrastructure.python_function import PythonFunction

# A record that cannot be read is recorded by enqueue itself; what comes back here is an outage
# of DynamoDB or SQS, and retries last through it. What the stream keeps for one more hour
# goes to the bucket.
RETRY_ATTEMPTS = 10_000
RECORD_AGE_SECONDS = 23 * 60 * 60


@dataclass(frozen=True)
class SourceTable:
    """A table by what the pipeline needs of it."""

    name: str
    arn: str
    stream_arn: str
    encryption_key_arn: str | None = None


def source_table(
    scope: Construct, id_: str, *, source: SourceConfig, key: kms.IKey | None
) -> SourceTable:
    """Make the source's table, or take the existing one that the source names."""
    existing = source.table
    if existing is not None:
        return SourceTable(
            existing.name, existing.arn, existing.stream_arn, existing.encryption_key_arn
        )
    keys = [
        dynamodb.Attribute(name=name, type=_ATTRIBUTE_TYPES[kind])
        for name, kind in source.key.items()
    ]
    table = dynamodb.Table(
        scope,
        id_,
        partition_key=keys[0],
        sort_key=keys[1] if len(keys) == 2 else None,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        encryption=table_encryption(key),
        encryption_key=key,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        # Enqueue looks at the new image only: the old one would double what a record weighs.
        stream=dynamodb.StreamViewType.NEW_IMAGE,
        # Whatever the stage's removal says: to CloudFormation a renamed source is one that goes,
        # and another key is another table. Not protected against deletion, which would hold up
        # the rollback of a first deployment: docs/decisions.
        removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    )
    stream_arn = table.table_stream_arn
    if stream_arn is None:
        raise RuntimeError("a table made with a stream has a stream ARN")
    return SourceTable(table.table_name, table.table_arn, stream_arn)


def read_stream(
    enqueue: PythonFunction,
    source: str,
    table: SourceTable,
    *,
    config: StageConfig,
    failed: s3.IBucket,
) -> lambda_.CfnEventSourceMapping:
    """Let Lambda read a source's stream; records that never succeed go to the bucket."""
    stream = config.sources[source].stream
    return lambda_.CfnEventSourceMapping(
        enqueue,
        pascal(source, "mapping"),
        function_name=enqueue.function.function_arn,
        event_source_arn=table.stream_arn,
        enabled=config.enabled,
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
        metrics_config=lambda_.CfnEventSourceMapping.MetricsConfigProperty(metrics=["EventCount"]),
    )


_ATTRIBUTE_TYPES = {
    "S": dynamodb.AttributeType.STRING,
    "N": dynamodb.AttributeType.NUMBER,
    "B": dynamodb.AttributeType.BINARY,
}
