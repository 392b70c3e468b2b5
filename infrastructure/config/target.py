"""What cdk.json says about a target: provider, model, index, and how much runs at once."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from functions.core.frozen import Frozen
from functions.core.lane import Lane
from functions.core.settings import TargetOptions, VectorCompression
from infrastructure.config.budget import budget_mistakes
from infrastructure.config.mistakes import ConfigError, Mistake
from infrastructure.config.provider import (
    dimension_mistakes,
    limits_of,
    provider_mistakes,
    request_mistakes,
    token_mistakes,
    usual_dimensions,
)
from infrastructure.config.retry import RetryConfig
from infrastructure.config.source import KeyArn
from infrastructure.function_table import FUNCTIONS

EMBED = FUNCTIONS["embed"]

# SQS mappings take 2..1000: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
Concurrency = Annotated[int, Field(ge=2, le=1000)]
# The whole ARN: one without the random suffix needs a wildcard in the function's policy.
SecretArn = Annotated[
    str,
    StringConstraints(
        pattern=r"^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$"
    ),
]
_RANGE = "... calls of embed at once"
# Prefixes and further fields of a request are part of each chunk's hash, which is compared too.
_VECTOR_SETTINGS = (
    *("provider", "base_url", "region", "api_version", "model", "vector_dimensions"),
    *("headers", "encoding_format", "send_dimensions"),
)
# AWS asks for 6x, leaving Lambda room to retry a throttled batch:
# https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
VISIBILITY_TIMEOUTS = 6


class ConcurrencyConfig(Frozen):
    """MaximumConcurrency of each lane's mapping."""

    high: Concurrency = Field(10, description=_RANGE)
    normal: Concurrency = Field(10, description=_RANGE)
    bulk: Concurrency = Field(5, description=_RANGE)
    delete: Concurrency = Field(2, description=_RANGE)
    sequential: Concurrency = Field(2, description=f"{_RANGE}, for each sequential source")

    def of(self, lane: Lane) -> int:
        return int(getattr(self, lane.value))

    def total(self, *, sequential_sources: int) -> int:
        return sum(
            self.of(lane) * (sequential_sources if lane.traits.is_per_source else 1)
            for lane in Lane
        )


class BulkConfig(Frozen):
    """How Lambda reads the bulk lane."""

    batch_size: int = Field(
        Lane.BULK.traits.batch_size, ge=1, le=1000, description="... tasks a call"
    )
    window_seconds: int = Field(
        Lane.BULK.traits.window_seconds,
        ge=0,
        le=300,
        description="... in which Lambda gathers tasks for a call",
    )

    @model_validator(mode="after")
    def _large_batches_need_a_window(self) -> "BulkConfig":
        if self.batch_size > 10 and self.window_seconds == 0:
            raise ConfigError(
                [
                    Mistake(
                        ("window_seconds",),
                        f"0 does not go with a batch_size of {self.batch_size}",
                        "1 to 300 when batch_size is above 10",
                    )
                ]
            )
        return self


class TargetConfig(TargetOptions):
    """Provider, model, dimensions and index, with the sizes of the function that serves them."""

    dimensions: int | None = Field(
        None, ge=1, le=16_000, description="...; known models have a default"
    )
    api_key_secret_arn: SecretArn | None = Field(
        None,
        description="the whole ARN of a secret, with its six last characters, or left out: the"
        " stack makes one",
    )
    api_key_encryption_key_arn: KeyArn | None = Field(
        None, description="ARN of the KMS key, if that secret is encrypted with one of your own"
    )
    index: str | None = Field(
        None,
        pattern=r"^[a-z0-9][a-z0-9._-]{0,199}$",
        description="lower-case letters, digits and . _ -, at most 200 characters",
    )
    shards: int = Field(1, ge=1, le=100, description="...; fixed once the index is there")
    replicas: int | None = Field(
        None, ge=0, le=10, description="...; 1 if left out, 0 on a domain of one instance"
    )
    compression: VectorCompression = Field(
        "none",
        description="none, 4x or 32x: vectors that a search reads are so much smaller; chosen once",
    )
    concurrency: ConcurrencyConfig = ConcurrencyConfig()
    reserved_concurrency: int | None = Field(
        None, ge=9, le=100_000, description="..., at least the sum of the lanes' concurrency and 1"
    )
    bulk: BulkConfig = BulkConfig()
    memory_mb: int = Field(EMBED.memory_mb, ge=128, le=10_240, description="... for a run of embed")
    timeout_seconds: int = Field(
        EMBED.timeout_seconds, ge=60, le=900, description="... for a run of embed"
    )
    retry: RetryConfig = RetryConfig()

    @property
    def visibility_seconds(self) -> int:
        return VISIBILITY_TIMEOUTS * self.timeout_seconds

    @property
    def vector_dimensions(self) -> int:
        return self.dimensions or usual_dimensions(self)

    def same_model(self, other: "TargetConfig") -> bool:
        """Tell whether a text has the same vector with both, as far as settings can tell."""
        return all(getattr(self, name) == getattr(other, name) for name in _VECTOR_SETTINGS)

    @property
    def has_api_key(self) -> bool:
        """Return whether its provider asks for a key, which a secret holds."""
        return self.provider != "bedrock"

    @property
    def request_tokens(self) -> int:
        return self.tokens_per_request or limits_of(self).tokens_per_request

    def batch_of(self, lane: Lane) -> tuple[int, int]:
        """Return how many tasks a call takes from a lane, and how long Lambda gathers them."""
        read = self.bulk if lane is Lane.BULK else lane.traits
        return read.batch_size, read.window_seconds

    @model_validator(mode="after")
    def _combinations(self) -> "TargetConfig":
        mistakes = [
            *provider_mistakes(self),
            *dimension_mistakes(self),
            *token_mistakes(self),
            *request_mistakes(self),
            *self._hiding_mistakes(),
            *budget_mistakes(self),
        ]
        if mistakes:
            raise ConfigError(mistakes)
        return self

    def _hiding_mistakes(self) -> Iterator[Mistake]:
        # A message that is hidden for longer than its queue hides any would come back early
        # whenever that one call of embed fails.
        if self.retry.max_hide_seconds > self.visibility_seconds:
            yield Mistake(
                ("retry", "max_hide_seconds"),
                f"{self.retry.max_hide_seconds:g} is longer than the lanes' visibility timeout",
                f"at most {self.visibility_seconds}, {VISIBILITY_TIMEOUTS} x timeout_seconds",
            )
