"""What the template describes and one-machine mode runs: functions, queues, tables and more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from local.watch.alarms import Alarm, Composite


@dataclass(frozen=True)
class FunctionSpec:
    """A Lambda function as the template declares it, its environment resolved."""

    name: str  # the physical name
    logical_id: str
    folder: str  # of functions/: enqueue, embed, ...
    handler: str
    environment: Mapping[str, str]
    timeout_seconds: int
    memory_mb: int
    reserved_concurrency: int | None = None
    log_group: str = ""


@dataclass(frozen=True)
class QueueMappingSpec:
    """An event source mapping from a queue."""

    mapping_id: str
    function: str
    queue: str  # its name
    batch_size: int
    window_seconds: int
    max_concurrency: int | None
    reports_failures: bool
    enabled: bool


@dataclass(frozen=True)
class StreamMappingSpec:
    """An event source mapping from a table's stream."""

    mapping_id: str
    function: str
    table: str  # its name
    batch_size: int
    window_seconds: int
    starting_position: str
    parallelization_factor: int
    bisects: bool
    max_retries: int  # -1: for ever
    max_age_seconds: int  # -1: for ever
    reports_failures: bool
    enabled: bool
    failure_bucket: str | None  # the S3 bucket that keeps what failed


@dataclass(frozen=True)
class ScheduleSpec:
    """A rule that runs a function at a steady rate."""

    rule: str
    function: str
    every_seconds: int
    payload: str  # the event, as JSON text
    enabled: bool

    @property
    def expression(self) -> str:
        """Write the rate as EventBridge does."""
        minutes = max(1, self.every_seconds // 60)
        return f"rate({minutes} minute{'s' if minutes > 1 else ''})"


@dataclass(frozen=True)
class QueueSpec:
    """A queue with all its attributes, as CreateQueue takes them."""

    name: str
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class TableSpec:
    """A table, as CreateTable takes it, and its time to live."""

    name: str
    create: Mapping[str, Any]
    ttl_attribute: str | None = None


@dataclass(frozen=True)
class ResourceSpec:
    """A resource of the template that is there on this machine."""

    logical_id: str
    kind: str  # AWS::SQS::Queue and the like
    physical_id: str


@dataclass(frozen=True)
class StackSpec:
    """The whole template, in the words of one-machine mode."""

    name: str
    tables: Sequence[TableSpec]
    queues: Sequence[QueueSpec]
    buckets: Sequence[str]
    secrets: Sequence[str]
    functions: Sequence[FunctionSpec]
    queue_mappings: Sequence[QueueMappingSpec]
    stream_mappings: Sequence[StreamMappingSpec]
    schedules: Sequence[ScheduleSpec] = ()
    custom_resources: Sequence[Mapping[str, Any]] = field(default_factory=list)
    outputs: Mapping[str, str] = field(default_factory=dict)
    resources: Sequence[ResourceSpec] = ()
    alarms: Sequence[Alarm | Composite] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)  # resource type -> how many
