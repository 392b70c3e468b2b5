"""The typed form of each function's environment; a wrong one fails at cold start, by name."""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, Self

from pydantic import ConfigDict, Field, Json

from functions.core.frozen import Frozen
from functions.core.retry_policy import RetrySettings

MetadataType = Literal["keyword", "text", "long", "double", "boolean", "date"]


class Ordering(StrEnum):
    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class SourceSettings(Frozen):
    """A table and the meaning of its attributes."""

    name: str
    table: str
    key: tuple[str, ...]
    text: str
    type_attribute: str | None = None
    default_type: str = "document"
    metadata: dict[str, MetadataType] = Field(default_factory=dict)
    priority_attribute: str | None = None
    skip_attribute: str | None = None
    ordering: Ordering = Ordering.PARALLEL
    targets: tuple[str, ...] = ("default",)


class BreakerSettings(Frozen):
    """When a target stops asking, and when it asks again."""

    window_seconds: int = 60
    # Fewer requests than this in a window tell nothing.
    least_requests: int = 10
    failure_ratio: float = 0.5
    # From opening to the first probe, and from one failed probe to the next; the last repeats.
    probe_after_seconds: tuple[float, ...] = (30.0, 60.0, 120.0, 300.0)
    # From one lane that comes back to the next, after a probe has passed.
    lane_seconds: float = 60.0


class TargetSettings(Frozen):
    """Provider, model, dimensions and index: what a document becomes."""

    name: str
    provider: Literal["openai", "azure", "compatible"] = "openai"
    base_url: str | None = None
    api_version: str | None = None
    model: str
    dimensions: int
    chunk_tokens: int = 400
    max_chunks: int = 1000
    tokens_per_request: int = 300_000
    max_entry_mb: int = 10
    index: str
    # The account's limits at the provider, where it sends no headers; None: not known.
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    # Runs that may work at the same time: each takes its share of the limits.
    workers: int = 10
    retry: RetrySettings = RetrySettings()
    breaker: BreakerSettings = BreakerSettings()


class Environment(Frozen):
    """Read from environment variables named like the fields, in upper case."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] | None = None) -> Self:
        given = os.environ if variables is None else variables
        return cls.model_validate(
            {name: given[name.upper()] for name in cls.model_fields if name.upper() in given}
        )


class EnqueueSettings(Environment):
    """What enqueue needs: sources, targets, and the queues of each target by name."""

    ledger_table: str
    sources: Json[tuple[SourceSettings, ...]]
    targets: Json[tuple[TargetSettings, ...]]
    queues: Json[dict[str, dict[str, str]]]


class EmbedSettings(Environment):
    """What embed needs: one target, every source that feeds it, and the target's queues."""

    ledger_table: str
    sources: Json[tuple[SourceSettings, ...]]
    target: Json[TargetSettings]
    queues: Json[dict[str, str]]
    index_endpoint: str
    api_key_secret: str
    stash_bucket: str
    # Where completion events go; empty: nowhere.
    event_bus: str = ""


class SweepSettings(EnqueueSettings):
    """What sweep needs: everything of every target, and where the stream's failures lie."""

    index_endpoint: str
    failed_changes_bucket: str
    event_bus: str = ""
    stuck_hours: float = 24.0


class GuardedTarget(Frozen):
    """A target as the breaker sees it: its embed function, and the mapping of each queue."""

    name: str
    embed_function: str
    mappings: dict[str, str]  # queue -> id of its event source mapping
    settings: BreakerSettings = BreakerSettings()


class BreakerFunctionSettings(Environment):
    """What breaker needs."""

    ledger_table: str
    targets: Json[tuple[GuardedTarget, ...]]


class IndexSetupSettings(Environment):
    """What index_setup needs; the index itself comes with the deployment's request."""

    index_endpoint: str
