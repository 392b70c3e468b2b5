"""Where completion events go: the account's default bus, or nowhere."""

from aws_cdk import Stack

from infrastructure.stage_config import StageConfig

DEFAULT_BUS = "default"


def bus_name(config: StageConfig) -> str:
    """Name the bus; empty where nobody is told."""
    return DEFAULT_BUS if config.completion_events else ""


def bus_arns(stack: Stack, config: StageConfig) -> list[str]:
    """Name the bus as an IAM resource, if there is one."""
    name = bus_name(config)
    arn = stack.format_arn(service="events", resource="event-bus", resource_name=name)
    return [arn] if name else []
