"""What a stage configures and the functions read: each setting once, with default and bounds.

A description that begins with "..." continues what the type and the bounds say.
"""

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, Json, JsonValue, StringConstraints

from functions.core.frozen import Frozen
from functions.core.names import STASH_DAYS
from functions.core.retry_policy import RetrySettings

VectorCompression = Literal["none", "4x", "32x"]
MetadataType = Literal["keyword", "text", "long", "double", "boolean", "date"]
MetadataField = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,254}$")]
Attribute = Annotated[str, StringConstraints(min_length=1, max_length=255)]
# https://www.rfc-editor.org/rfc/rfc9110#name-field-names, without what clients write otherwise.
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,63}$")]
HeaderValue = Annotated[str, StringConstraints(pattern=r"^[!-~]([ -~]{0,254}[!-~])?$")]
Region = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$")]
# Each part begins with a letter, so that two names never share one output name.
Name = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$", max_length=32)
]


class Ordering(StrEnum):
    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class SourceOptions(Frozen):
    """The meaning of a table's attributes."""

    text: str = Field(
        description='attribute names in braces, at least one, such as "{title}\\n\\n{body}"'
    )
    chunk_prefix: str | None = Field(
        None,
        description="stands before every chunk in what is embedded, not in what is shown, such as"
        ' "{title}\\n\\n"; at most half of chunk_tokens of it',
    )
    type_attribute: Attribute | None = Field(None, description="holds the document type")
    default_type: str = Field("document", min_length=1, description="a document type")
    metadata: dict[MetadataField, MetadataType] = Field(
        {},
        description="attributes of letters, digits, _ and -, each with its type keyword, text,"
        " long, double, boolean or date",
    )
    priority_attribute: Attribute | None = Field(
        None, description="holds high, normal or low (the lane bulk)"
    )
    skip_attribute: Attribute | None = Field(
        None, description="if true, the document is not indexed"
    )
    tenant_attribute: Attribute | None = Field(
        None,
        description="holds the tenant: in the bulk and delete lanes none waits long for another"
        " one's backlog, and a budget may limit each",
    )
    ordering: Ordering = Ordering.PARALLEL
    targets: tuple[Name, ...] = Field(("default",), min_length=1, description="a list of targets")


class SourceSettings(SourceOptions):
    """A source as the functions see it."""

    name: str
    table: str
    key: tuple[str, ...]


def deployed_pairs(sources: Iterable[SourceSettings]) -> frozenset[tuple[str, str]]:
    """Name each target with each source that feeds it."""
    return frozenset((target, source.name) for source in sources for target in source.targets)


class BreakerSettings(Frozen):
    """When a target's breakers open, and when they try again."""

    window_seconds: int = Field(
        60, ge=10, le=3600, description="... over which failures are counted"
    )
    least_requests: int = Field(10, ge=1, le=10_000, description="...; fewer open no breaker")
    failure_ratio: float = Field(
        0.5, gt=0, le=1, description="...: the share of failures that opens it"
    )
    probe_after_seconds: tuple[Annotated[float, Field(ge=1, le=86_400)], ...] = Field(
        (30, 60, 120, 300),
        min_length=1,
        description="a list of delays, 1 to 86400 each, from opening to the first probe and from"
        " probe to probe; the last one repeats, and probes go out once a minute at most",
    )
    lane_seconds: float = Field(
        60,
        ge=1,
        le=3600,
        description="...: from one lane to the next at most; one a minute at most",
    )


class BudgetSettings(Frozen):
    """What a target may spend; the documents above it wait for the next day or month (UTC)."""

    tokens_per_day: int | None = Field(None, ge=1, le=10**15)
    usd_per_month: float | None = Field(
        None, ge=0.01, le=10_000_000, description="...; needs a price, see usd_per_million_tokens"
    )
    live_share: float = Field(
        0.2, ge=0, le=0.9, description="...: the share that bulk leaves to live writes"
    )
    tenant_tokens_per_day: int | None = Field(
        None,
        ge=1,
        le=10**15,
        description="... for each tenant of a source with tenant_attribute, so that none uses up"
        " what the others need",
    )

    @property
    def limits_target(self) -> bool:
        """Tell whether it limits the target as a whole, and not only each tenant."""
        return self.tokens_per_day is not None or self.usd_per_month is not None


class TargetOptions(Frozen):
    """Provider, model and limits: what a document becomes."""

    provider: Literal["openai", "azure", "bedrock", "compatible"] = "openai"
    base_url: str | None = Field(
        None,
        description="an https address (http only for localhost); azure and compatible need it; for"
        " bedrock that of a VPC endpoint of your own",
    )
    region: Region | None = Field(
        None, description="of bedrock, such as eu-central-1; left out: where the stage is"
    )
    api_version: str | None = Field(None, min_length=1, description="of azure, such as 2024-10-21")
    model: str = Field(min_length=1, description="such as text-embedding-3-small")
    replaces: Name | None = Field(
        None,
        description="the target of the same sources whose searches it is to answer: see"
        " migration.md",
    )
    document_prefix: str = Field(
        "",
        max_length=64,
        description='before each text that is embedded, for models that want it: "passage: "',
    )
    query_prefix: str = Field(
        "", max_length=500, description='before each query, such as "query: "'
    )
    document_extra_body: dict[str, JsonValue] = Field(
        {},
        description="an object of further fields in each request for documents, such as"
        ' {"input_type": "document"}',
    )
    query_extra_body: dict[str, JsonValue] = Field(
        {}, description='an object, the same for queries, such as {"input_type": "query"}'
    )
    headers: dict[HeaderName, HeaderValue] = Field(
        {},
        description="names of letters, digits and -, each with a printable ASCII value, sent with"
        " each request; no secrets: all who may read the stack see them",
    )
    encoding_format: Literal["base64", "float", "none"] = Field(
        "base64", description="base64, float or none (the request names no format)"
    )
    send_dimensions: bool | None = Field(
        None,
        description="whether a request asks for `dimensions`; left out: true for openai and azure,"
        " but not for text-embedding-ada-002",
    )
    inputs_per_request: int | None = Field(
        None, ge=1, description="..., at most what the provider takes; left out: as many"
    )
    chunk_tokens: int = Field(400, ge=16, description="..., at most one input of the provider")
    max_bytes_per_token: int = Field(
        8,
        ge=1,
        le=32,
        description="...: a chunk has at most chunk_tokens times so many bytes. Tokens are counted"
        " with OpenAI's vocabulary; with 1, a chunk fits whatever the model's vocabulary is",
    )
    max_chunks: int = Field(
        1000, ge=1, le=10_000, description="...; a document that has more is rejected"
    )
    tokens_per_request: int | None = Field(
        None, ge=16, description="..., at most what the provider takes; left out: as much"
    )
    max_entry_mb: int = Field(10, ge=1, le=100, description="...; small search instances take 10")
    requests_per_minute: int | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="...: the account's limit at the provider, where it sends no headers",
    )
    tokens_per_minute: int | None = Field(
        None,
        ge=1,
        le=10_000_000_000,
        description="...: the account's limit at the provider, at least tokens_per_request",
    )
    budget: BudgetSettings | None = Field(
        None, description="... of requests for documents; left out: none"
    )
    usd_per_million_tokens: float | None = Field(
        None,
        gt=0,
        le=10_000,
        description="...; left out: the price in infrastructure/config/prices.py, if the model is"
        " there",
    )
    retry: RetrySettings = RetrySettings()
    breaker: BreakerSettings = BreakerSettings()


class TargetSettings(TargetOptions):
    """A target as the functions see it."""

    name: str
    dimensions: int
    index: str
    # The index of the target that it replaces, if vectors of the same model are there.
    reused_index: str = ""
    # Runs that may work at the same time: each takes its share of the limits.
    workers: int = 10


def unnamed_target(targets: Mapping[str, TargetSettings]) -> TargetSettings | None:
    """Return the target that is meant where none is named: the only one that replaces no other.

    So that a second one, which is still being filled, changes nothing for those who ask.
    """
    found = [target for target in targets.values() if target.replaces is None]
    return found[0] if len(found) == 1 else None


class Environment(Frozen):
    """Read from environment variables named like the fields, in upper case."""

    model_config = ConfigDict(extra="ignore")

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


class RetentionSettings(Frozen):
    """How many days what is no longer needed is kept; failed and partial rows have no end."""

    completed_rows: int = Field(
        30, ge=1, le=3650, description="...: ledger rows of completed documents"
    )
    dead_letters: int = Field(14, ge=1, le=14, description="..., SQS keeps none longer")
    stash: int = Field(
        STASH_DAYS, ge=STASH_DAYS, le=30, description="...: vectors that were not indexed yet"
    )
    failed_changes: int = Field(30, ge=1, le=365, description="...: what the stream gave up")
    jobs: int = Field(90, ge=1, le=3650, description="...: backfills that have ended")


class EmbedSettings(Environment):
    """What embed needs: one target, every source that feeds it, and the target's queues."""

    ledger_table: str
    sources: Json[tuple[SourceSettings, ...]]
    target: Json[TargetSettings]
    queues: Json[dict[str, str]]
    index_endpoint: str
    # Empty where the provider asks for no key.
    api_key_secret: str = ""
    stash_bucket: str
    retention: Json[RetentionSettings] = RetentionSettings()
    # Where completion events go; empty: nowhere.
    event_bus: str = ""


class SweepSettings(EnqueueSettings):
    """What sweep needs: everything of every target, and where the stream's failures lie."""

    index_endpoint: str
    failed_changes_bucket: str
    event_bus: str = ""
    stuck_hours: float


class VerifySettings(Frozen):
    """How often every document is compared with its table, and what follows."""

    days: int = Field(
        7, ge=0, le=90, description="...: each document is compared within so many; 0: never"
    )
    repair: bool = Field(
        False, description="... (whether a document that differs is sent again without a person)"
    )


class BackfillSettings(EnqueueSettings):
    """What backfill needs: everything of every target, and its own queue."""

    index_endpoint: str
    errands_queue: str
    verify: Json[VerifySettings]
    retention: Json[RetentionSettings]


class BreakerTarget(Frozen):
    """A target as breaker sees it: its embed function, and the mapping of each queue."""

    name: str
    embed_function: str
    mappings: dict[str, str]  # queue -> id of its event source mapping
    settings: BreakerSettings = BreakerSettings()


class BreakerFunctionSettings(Environment):
    """What breaker needs."""

    ledger_table: str
    targets: Json[tuple[BreakerTarget, ...]]


class QuerySettings(Environment):
    """What query needs: the indexes that commands may look into."""

    index_endpoint: str
    indexes: Json[tuple[str, ...]]


class SearchSettings(Environment):
    """What search needs: the metadata of sources, targets, and the keys of those with one."""

    ledger_table: str
    index_endpoint: str
    sources: Json[tuple[SourceSettings, ...]]
    targets: Json[tuple[TargetSettings, ...]]
    secrets: Json[dict[str, str]]


class IndexSetupSettings(Environment):
    """What index_setup needs; the index itself comes with the deployment's request."""

    index_endpoint: str
    ledger_table: str
    # Of each target the index, and that of the target which it replaces, or nothing.
    indexes: Json[dict[str, str]]
