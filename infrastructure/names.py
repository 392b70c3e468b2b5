"""Names that must be known before AWS makes the resource, and what follows from them."""

from functions.core.lane import Lane, queue_name
from infrastructure.config.stage import StageConfig
from infrastructure.config.target import TargetConfig

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
QUEUE_NAME_CHARACTERS = 80


def stack_name(stage: str) -> str:
    return f"embedq-{stage}"


def lane_queue_name(stage: str, target: str, lane: Lane, source: str = "") -> str:
    """Name a lane's queue. Fixed, because the DLQ's allow policy names it before it exists."""
    suffix = ".fifo" if lane.is_fifo else ""
    return f"{stack_name(stage)}-{target}-{queue_name(lane, source)}{suffix}"


def dead_letter_queue_name(stage: str, target: str, *, fifo: bool) -> str:
    return f"{stack_name(stage)}-{target}-dead-letters{'.fifo' if fifo else ''}"


def index_name(stage: str, target: str, config: TargetConfig) -> str:
    return config.index or f"{stack_name(stage)}-{target}"


def bus_name(config: StageConfig) -> str:
    """Name the bus that completion events go to; empty: they are not sent."""
    return "default" if config.completion_events else ""


def pascal(*names: str) -> str:
    """Join names into one output or construct id: ("target", "my-docs") -> TargetMyDocs."""
    return "".join(part.capitalize() for part in "-".join(names).split("-"))
