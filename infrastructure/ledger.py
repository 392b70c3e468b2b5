"""The ledger: one row per target and document, and a sparse index over the open ones."""

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from functions.core.names import OPEN_INDEX
from infrastructure.config.stage import StageConfig
from infrastructure.encryption import own_key, table_encryption
from infrastructure.removal import removal_policy


class Ledger(Construct):
    """Keep the state of every document."""

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        super().__init__(scope, id_)
        key = own_key(self, config)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=_attribute("row_key", dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=table_encryption(key),
            encryption_key=key,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            time_to_live_attribute="expires_at",
            removal_policy=removal_policy(config),
        )
        # Only rows that owe work carry these two attributes. The shard spreads them: a hot
        # partition of a secondary index throttles writes to the table itself.
        self.table.add_global_secondary_index(
            index_name=OPEN_INDEX,
            partition_key=_attribute("open_shard", dynamodb.AttributeType.STRING),
            sort_key=_attribute("due_ms", dynamodb.AttributeType.NUMBER),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=["status", "lane"],
        )
        self.index_arn = f"{self.table.table_arn}/index/{OPEN_INDEX}"


def _attribute(name: str, kind: dynamodb.AttributeType) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=kind)
