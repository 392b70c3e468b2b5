"""What a domain that the stack makes would refuse of its targets: its version, its instances."""

from collections.abc import Iterator

from infrastructure.config.mistakes import Mistake
from infrastructure.config.opensearch import (
    FIRST_WITH_COMPRESSION,
    LUCENE_DIMENSIONS,
    VERSIONS,
    DomainConfig,
)
from infrastructure.config.stage import StageConfig
from infrastructure.config.target import TargetConfig


def what_the_domain_refuses(config: StageConfig) -> Iterator[Mistake]:
    """List what an index of the domain would not take; an existing domain says it itself."""
    domain = config.opensearch.domain
    if domain is None:
        return
    for name, target in config.targets.items():
        for setting, wrong, allowed in _refusals(domain, target):
            yield Mistake(("targets", name, setting), wrong, allowed)


def _refusals(domain: DomainConfig, target: TargetConfig) -> Iterator[tuple[str, str, str]]:
    most = LUCENE_DIMENSIONS.get(domain.version)
    if most is not None and target.vector_dimensions > most:
        wrong = f"{target.vector_dimensions} is more than {domain.version} takes"
        yield "dimensions", wrong, f"1 to {most}, or a newer version in opensearch.domain"
    first = FIRST_WITH_COMPRESSION[target.compression]
    if VERSIONS.index(domain.version) < VERSIONS.index(first):
        wrong = f"{target.compression} is not known to {domain.version}"
        yield "compression", wrong, f"{first} or newer in opensearch.domain, or less compression"
    # OpenSearch Service answers 413 to a larger body, however often it is sent.
    if target.max_entry_mb > domain.body_mb:
        wrong = f"{target.max_entry_mb} is more than {domain.instance_type} takes"
        yield "max_entry_mb", wrong, f"1 to {domain.body_mb}, or a larger instance"
