"""The typed form of each function's environment; a wrong one fails at cold start, by name."""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Json

MetadataType = Literal["keyword", "text", "long", "double", "boolean", "date"]


class Ordering(StrEnum):
    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceSettings(Frozen):
    """A table and the meaning of its attributes."""

    name: str
    table: str
    key: tuple[str, ...]
    text: str
    type_attribute: str | None = None
    default_type: str = "document"
    metadata: dict[str, MetadataType] = {}
    priority_attribute: str | None = None
    skip_attribute: str | None = None
    ordering: Ordering = Ordering.PARALLEL
    targets: tuple[str, ...] = ("default",)


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


class IndexSetupSettings(Environment):
    """What index_setup needs; the index itself comes with the deployment's request."""

    index_endpoint: str
