"""How long a stage keeps things: its data when the stack is deleted, its logs in days."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs

from infrastructure.config.stage import StageConfig


def removal_policy(config: StageConfig) -> RemovalPolicy:
    """Translate the stage's setting for everything that holds data or logs."""
    # Not RETAIN: that also keeps what a failed first deployment made, and the next one would
    # find the names taken.
    kept = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
    return kept if config.removal == "retain" else RemovalPolicy.DESTROY


def set_retention(group: logs.LogGroup, config: StageConfig) -> None:
    """Set the days that a log group keeps its events."""
    # The construct takes an enum without the numbers that cdk.json and CloudFormation use.
    resource = group.node.default_child
    if isinstance(resource, logs.CfnLogGroup):
        resource.retention_in_days = config.log_retention_days
