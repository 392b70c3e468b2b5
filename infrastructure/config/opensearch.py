"""What cdk.json says about OpenSearch: a domain that the stack makes, or an endpoint."""

import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from functions.core.frozen import Frozen
from infrastructure.config.mistakes import ConfigError, Mistake
from infrastructure.config.target import is_safe_address

_DOMAIN_ARN = r"^arn:aws[a-z-]*:es:[a-z0-9-]+:\d{12}:domain/[a-z][a-z0-9-]{2,27}$"
_SERVICE_HOST = re.compile(r"\.es\.amazonaws\.com(\.cn)?$|\.aos\.[a-z0-9-]+\.on\.aws$")
_SERVERLESS_HOST = re.compile(r"\.aoss\.(amazonaws\.com|[a-z0-9-]+\.on\.aws)$")


class DedicatedMastersConfig(Frozen):
    """Nodes that manage the cluster and hold no data."""

    instance_type: str = Field(
        "m7g.medium.search", pattern=r"\.search$", description="a type such as m7g.medium.search"
    )
    count: Literal[3, 5] = 3


class DomainConfig(Frozen):
    """A domain that the stack makes and owns."""

    version: str = Field(
        "OpenSearch_3.5",
        pattern=r"^OpenSearch_(2\.1[1-9]|3\.\d+)$",
        description="OpenSearch_2.11 or newer",
    )
    instance_type: str = Field(
        "t3.small.search", pattern=r"\.search$", description="a type such as r7g.large.search"
    )
    instance_count: int = Field(
        1, ge=1, le=80, description="1, or a multiple of 2 or 3 (one zone for each), at most 80"
    )
    volume_gb: int = Field(10, ge=10, le=16_384, description="... for each instance")
    dedicated_masters: DedicatedMastersConfig | None = None

    @property
    def zones(self) -> int:
        if self.instance_count == 1:
            return 1
        return 3 if self.instance_count % 3 == 0 else 2

    @model_validator(mode="after")
    def _zones_hold_equal_shares(self) -> "DomainConfig":
        if self.instance_count % self.zones:
            raise ConfigError(
                [
                    Mistake(
                        ("instance_count",),
                        f"{self.instance_count} does not spread over zones",
                        "1, or a multiple of 2 or 3",
                    )
                ]
            )
        return self


class OpenSearchConfig(Frozen):
    """Where the entries go."""

    endpoint: str | None = Field(
        None, description="an https address (http only for localhost) without a path"
    )
    domain_arn: str | None = Field(
        None,
        pattern=_DOMAIN_ARN,
        description="arn:aws:es:<region>:<account>:domain/<name>, the domain behind the endpoint",
    )
    domain: DomainConfig | None = None

    @property
    def default_replicas(self) -> int:
        return 0 if self.domain is not None and self.domain.instance_count == 1 else 1

    @model_validator(mode="after")
    def _exactly_one(self) -> "OpenSearchConfig":
        if (self.endpoint is None) == (self.domain is None):
            raise ConfigError(
                [Mistake((), "needs exactly one of two", "endpoint (existing) or domain (made)")]
            )
        mistakes = [] if self.endpoint is None else self._endpoint_mistakes(self.endpoint)
        if self.domain is not None and self.domain_arn is not None:
            mistakes = [Mistake(("domain_arn",), "does not go with domain", "only with endpoint")]
        if mistakes:
            raise ConfigError(mistakes)
        return self

    def _endpoint_mistakes(self, endpoint: str) -> list[Mistake]:
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        path: tuple[str] = ("endpoint",)
        if not is_safe_address(endpoint) or parts.path not in ("", "/") or parts.query:
            allowed = "an https address (http only for localhost) without a path"
            return [Mistake(path, f'"{endpoint}" is not allowed', allowed)]
        if _SERVERLESS_HOST.search(host):
            wrong = "is a serverless collection, whose vector type refuses document ids of our own"
            return [Mistake(path, wrong, "an OpenSearch domain")]
        if host.startswith("vpc-") and _SERVICE_HOST.search(host):
            wrong = "is inside a VPC, which the functions cannot reach"
            return [Mistake(path, wrong, "a public endpoint, guarded by IAM")]
        if _SERVICE_HOST.search(host) and self.domain_arn is None:
            wrong = "is missing"
            return [Mistake(("domain_arn",), wrong, "the ARN of the domain behind the endpoint")]
        return []
