"""What cdk.json says about OpenSearch: a domain that the stack makes, or an endpoint."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from functions.core.frozen import Frozen
from functions.core.names import is_service_host
from functions.core.settings import VectorCompression
from infrastructure.config.address import address_mistakes
from infrastructure.config.instance_types import (
    INSTANCE_TYPES,
    INSTANCES_WITH_T3_MASTERS,
    LARGEST_VOLUME_GB,
    SLOW_TO_REFRESH,
    WITH_SMALL_BODIES,
)
from infrastructure.config.mistakes import ConfigError, Mistake, did_you_mean, with_question

_DOMAIN_ARN = r"^arn:aws[a-z-]*:es:[a-z0-9-]+:\d{12}:domain/[a-z][a-z0-9-]{2,27}$"
_SERVERLESS_HOST = re.compile(r"\.aoss\.(amazonaws\.com|[a-z0-9-]+\.on\.aws)$")
# Of an endpoint that AWS has named: its domain and region.
_NAMED_HOST = re.compile(
    r"^(search|vpc)-(?P<name>[a-z0-9-]+)-[a-z0-9]+\.(aos\.)?(?P<region>[a-z0-9-]+)\.(es\.amazonaws|on\.aws)"
)
_ADDRESS = "an https address (http only for localhost) without a path"
# Those that OpenSearch Service offers and whose k-NN has what our queries and filters need.
Version = Literal[
    "OpenSearch_2.11", "OpenSearch_2.13", "OpenSearch_2.15", "OpenSearch_2.17", "OpenSearch_2.19",
    "OpenSearch_3.1", "OpenSearch_3.3", "OpenSearch_3.5", "OpenSearch_3.7",
]  # fmt: skip
VERSIONS: tuple[str, ...] = get_args(Version)
# https://github.com/opensearch-project/k-NN/issues/1277 and https://github.com/opensearch-project/k-NN/pull/3144
FIRST_WITH_COMPRESSION: dict[VectorCompression, Version] = {
    "none": "OpenSearch_2.11",
    "4x": "OpenSearch_2.17",
    "32x": "OpenSearch_3.7",
}
# https://github.com/opensearch-project/k-NN/releases/tag/2.12.0.0
LUCENE_DIMENSIONS = {"OpenSearch_2.11": 1024}


def _known_type(name: str) -> str:
    if name not in INSTANCE_TYPES:
        rule = "a type with gp3 volumes, such as r7g.large.search or t3.small.search"
        if name.partition(".")[0] in SLOW_TO_REFRESH:
            wrong = f'"{name}" refreshes an index every ten seconds, and live writes wait for it'
            raise ConfigError([Mistake((), wrong, rule)])
        allowed = with_question(rule, did_you_mean(name, INSTANCE_TYPES))
        raise ConfigError([Mistake((), f'"{name}" is not allowed', allowed)])
    return name


InstanceType = Annotated[str, AfterValidator(_known_type)]


class DedicatedMastersConfig(Frozen):
    """Nodes that manage the cluster and hold no data."""

    instance_type: InstanceType = Field(
        "m7g.medium.search", description="a type such as m7g.medium.search"
    )
    count: Literal[3, 5] = 3


class DomainConfig(Frozen):
    """A domain that the stack makes and owns."""

    version: Version = "OpenSearch_3.5"
    instance_type: InstanceType = Field(
        "t3.small.search", description="a type with gp3 volumes, such as r7g.large.search"
    )
    instance_count: int = Field(
        1, ge=1, le=80, description="1, or a multiple of 2 or 3 (one zone for each), at most 80"
    )
    volume_gb: int = Field(10, ge=10, le=24_576, description="... for each instance")
    dedicated_masters: DedicatedMastersConfig | None = None

    @property
    def zones(self) -> int:
        if self.instance_count == 1:
            return 1
        return 3 if self.instance_count % 3 == 0 else 2

    @property
    def body_mb(self) -> int:
        """Return how large a request body may be: 10 MiB on the smallest instances, 100 on most."""
        return 10 if self.instance_type in WITH_SMALL_BODIES else 100

    @model_validator(mode="after")
    def _instances_fit(self) -> "DomainConfig":
        mistakes = []
        if self.instance_count % self.zones:
            wrong = f"{self.instance_count} does not spread over zones"
            mistakes.append(Mistake(("instance_count",), wrong, "1, or a multiple of 2 or 3"))
        most = LARGEST_VOLUME_GB.get(self.instance_type, self.volume_gb)
        if self.volume_gb > most:
            wrong = f"{self.volume_gb} is more than {self.instance_type} takes"
            mistakes.append(Mistake(("volume_gb",), wrong, f"10 to {most}, or a larger instance"))
        masters = self.dedicated_masters
        is_small = masters is not None and masters.instance_type.startswith("t3.")
        if is_small and self.instance_count > INSTANCES_WITH_T3_MASTERS:
            wrong = f"t3 cannot manage {self.instance_count} instances"
            allowed = f"t3 for at most {INSTANCES_WITH_T3_MASTERS} instances, or m7g.medium.search"
            mistakes.append(Mistake(("dedicated_masters", "instance_type"), wrong, allowed))
        if mistakes:
            raise ConfigError(mistakes)
        return self


class OpenSearchConfig(Frozen):
    """Where the entries go."""

    endpoint: str | None = Field(None, description=_ADDRESS)
    domain_arn: str | None = Field(
        None,
        pattern=_DOMAIN_ARN,
        description="arn:aws:es:<region>:<account>:domain/<name>, the domain behind the endpoint",
    )
    domain: DomainConfig | None = None

    @property
    def is_private(self) -> bool:
        """Tell whether the endpoint is that of an existing domain inside a VPC."""
        host = urlsplit(self.endpoint or "").hostname or ""
        return host.startswith("vpc-") and is_service_host(host)

    @property
    def default_replicas(self) -> int:
        return 0 if self.domain is not None and self.domain.instance_count == 1 else 1

    @model_validator(mode="after")
    def _exactly_one(self) -> "OpenSearchConfig":
        if (self.endpoint is None) == (self.domain is None):
            raise ConfigError(
                [Mistake((), "needs exactly one of two", "endpoint (existing) or domain (made)")]
            )
        mistakes = [] if self.endpoint is None else [*self._endpoint_mistakes(self.endpoint)]
        if self.domain is not None and self.domain_arn is not None:
            mistakes = [Mistake(("domain_arn",), "does not go with domain", "only with endpoint")]
        if mistakes:
            raise ConfigError(mistakes)
        return self

    def _endpoint_mistakes(self, endpoint: str) -> Iterator[Mistake]:
        path: tuple[str] = ("endpoint",)
        if wrong := address_mistakes(endpoint, path_allowed=False):
            yield Mistake(path, wrong, _ADDRESS)
            return
        host = urlsplit(endpoint).hostname or ""
        if _SERVERLESS_HOST.search(host):
            wrong = "is a serverless collection, whose vector type refuses document ids of our own"
            yield Mistake(path, wrong, "an OpenSearch domain")
        else:
            yield from self._domain_mistakes(host)

    def _domain_mistakes(self, host: str) -> Iterator[Mistake]:
        is_service = is_service_host(host)
        if self.domain_arn is None:
            if is_service:
                allowed = "the ARN of the domain behind the endpoint"
                yield Mistake(("domain_arn",), "is missing", allowed)
            return
        if not is_service:
            wrong = "is not the address that AWS gave the domain, and only that gets signed calls"
            allowed = "https://<search or vpc>-<name>-<id>.<region>.es.amazonaws.com"
            yield Mistake(("endpoint",), wrong, allowed)
        if named := _NAMED_HOST.search(host):
            _, _, _, region, _, resource = self.domain_arn.split(":")
            given = {"name": resource.removeprefix("domain/"), "region": region}
            for part, expected in named.groupdict().items():
                if given[part] != expected:
                    wrong = f"has the {part} {given[part]}, and endpoint has {expected}"
                    yield Mistake(("domain_arn",), wrong, "the domain behind the endpoint")
