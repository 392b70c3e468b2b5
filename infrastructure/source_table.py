"""The user's table: made here, or an existing one. Writes to it start the pipeline."""

from dataclasses import dataclass

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infrastructure.removal import removal_policy
from infrastructure.source_config import SourceConfig
from infrastructure.stage_config import StageConfig


@dataclass(frozen=True)
class SourceTable:
    """A table by what the pipeline needs of it."""

    name: str
    arn: str
    stream_arn: str
    encryption_key_arn: str | None = None


def source_table(
    scope: Construct, id_: str, *, source: SourceConfig, config: StageConfig
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
        encryption=dynamodb.TableEncryption.AWS_MANAGED,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        # Enqueue looks at the new image only: the old one would double what a record weighs.
        stream=dynamodb.StreamViewType.NEW_IMAGE,
        removal_policy=removal_policy(config),
    )
    stream_arn = table.table_stream_arn
    if stream_arn is None:
        raise RuntimeError("a table made with a stream has a stream ARN")
    return SourceTable(table.table_name, table.table_arn, stream_arn)


_ATTRIBUTE_TYPES = {
    "S": dynamodb.AttributeType.STRING,
    "N": dynamodb.AttributeType.NUMBER,
    "B": dynamodb.AttributeType.BINARY,
}
