"""Names that must be known before AWS makes the resource, and what follows from them."""

from functions.core.lane import Lane, queue_name
from infrastructure.config.stage import StageConfig
from infrastructure.config.target import TargetConfig

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
QUEUE_NAME_CHARACTERS = 80
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
ROLE_NAME_CHARACTERS = 64
LONGEST_REGION = "ap-southeast-1"


def stack_name(stage: str) -> str:
    return f"embedq-{stage}"


def lane_queue_name(stage: str, target: str, lane: Lane, source: str = "") -> str:
    """Name a lane's queue. Fixed, because the DLQ's allow policy names it before it exists."""
    suffix = ".fifo" if lane.is_fifo else ""
    return f"{stack_name(stage)}-{target}-{queue_name(lane, source)}{suffix}"


def dead_letter_queue_name(stage: str, target: str, *, fifo: bool) -> str:
    return f"{stack_name(stage)}-{target}-dead-letters{'.fifo' if fifo else ''}"


def errands_queue_name(stage: str) -> str:
    return f"{stack_name(stage)}-errands"


def embed_role(target: str) -> str:
    return f"embed-{target}"


def role_name(stage: str, function: str, region: str) -> str:
    """Name a function's role, known before it exists; roles of all regions share their names."""
    return f"{stack_name(stage)}-{function}-{region}"


def index_name(stage: str, target: str, config: TargetConfig) -> str:
    return config.index or f"{stack_name(stage)}-{target}"


def replaced_indexes(stage: str, config: StageConfig) -> dict[str, str]:
    """Name the index of each target, with that of the target which it replaces, or nothing."""
    return {
        index_name(stage, name, target): index_name(
            stage, target.replaces, config.targets[target.replaces]
        )
        if target.replaces
        else ""
        for name, target in config.targets.items()
    }


def bus_name(config: StageConfig) -> str:
    """Name the bus that completion events go to; empty: they are not sent."""
    return "default" if config.completion_events else ""


def pascal(*names: str) -> str:
    """Join names into one output or construct id: ("target", "my-docs") -> TargetMyDocs."""
    return "".join(part.capitalize() for part in "-".join(names).split("-"))
