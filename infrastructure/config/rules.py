"""Rules of AWS that span several parts of a stage, checked at synth instead of at deployment."""

import math
from collections.abc import Iterator

from functions.core.control import LONGEST_COOLDOWN_SECONDS
from functions.core.lane import Lane
from functions.core.names import CONTROL_PREFIX
from infrastructure.config.domain_rules import what_the_domain_refuses
from infrastructure.config.mistakes import Mistake, one_of
from infrastructure.config.places import scattered
from infrastructure.config.replacement import replacement_mistakes, unknown_replaced
from infrastructure.config.stage import StageConfig
from infrastructure.environment_limit import large_environments
from infrastructure.function_table import FUNCTIONS
from infrastructure.names import (
    LONGEST_REGION,
    QUEUE_NAME_CHARACTERS,
    ROLE_NAME_CHARACTERS,
    dead_letter_queue_name,
    embed_role,
    lane_queue_name,
    role_name,
)

# A DLQ's allow policy names at most ten queues, and high and normal are two of them:
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
SEQUENTIAL_SOURCES = 8
# Lambda keeps so many calls for functions without a reserve.
UNRESERVED_CONCURRENCY = 100


def broken_rules(stage: str, config: StageConfig) -> list[Mistake]:
    """List every mistake that only shows when the parts of a stage are seen together."""
    mistakes = [*_unknown_targets(config), *unknown_replaced(config)]
    if mistakes:
        return mistakes
    return [
        *_reserved_names(config),
        *_idle_targets(config),
        *_tenants_unknown(config),
        *replacement_mistakes(config),
        *_small_reserves(config),
        *_small_shares(config),
        *_crowded_dead_letters(config),
        *_contradicting_metadata(config),
        *_shared_tables(config),
        *scattered(config),
        *_unreachable_domains(config),
        *what_the_domain_refuses(config),
        *_types_without_documents(config),
        *_long_queue_names(stage, config),
        *_long_role_names(stage, config),
        *large_environments(stage, config),
    ]


def _unknown_targets(config: StageConfig) -> Iterator[Mistake]:
    for name, source in config.sources.items():
        for target in source.targets:
            if target not in config.targets:
                path = ("sources", name, "targets")
                wrong = f'"{target}" is no target of this stage'
                yield Mistake(path, wrong, one_of(target, config.targets))


def _reserved_names(config: StageConfig) -> Iterator[Mistake]:
    # A row's key begins with its target's name; this begins the keys of other items.
    if CONTROL_PREFIX in config.targets:
        path = ("targets", CONTROL_PREFIX)
        yield Mistake(path, "is a name of embedq's own", f"any name but {CONTROL_PREFIX}")


def _tenants_unknown(config: StageConfig) -> Iterator[Mistake]:
    for name, target in config.targets.items():
        sources = [config.sources[source] for source in config.sources_of(name)]
        is_limited = target.budget and target.budget.tenant_tokens_per_day
        if is_limited and not any(source.tenant_attribute for source in sources):
            path = ("targets", name, "budget", "tenant_tokens_per_day")
            allowed = "set tenant_attribute of a source, or leave it out"
            yield Mistake(path, "no source of this target names its tenants", allowed)


def _idle_targets(config: StageConfig) -> Iterator[Mistake]:
    for target in config.targets:
        if not config.sources_of(target):
            allowed = "name it in a source's targets"
            yield Mistake(("targets", target), "no source feeds it", allowed)


def _small_reserves(config: StageConfig) -> Iterator[Mistake]:
    # The mapping knows nothing of the reserve: what the function refuses is received again and
    # counts toward the DLQ. https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
    for name, target in config.targets.items():
        needed = config.workers_of(name) + 1
        if config.reserve_of(name) < needed:
            yield Mistake(
                ("targets", name, "reserved_concurrency"),
                f"{target.reserved_concurrency} is less than the lanes' concurrency and a probe",
                f"at least {needed}, the sum of the lanes and 1, or leave it out",
            )
    # https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
    others = UNRESERVED_CONCURRENCY + sum(
        spec.reserved_concurrency or 0 for spec in FUNCTIONS.values()
    )
    most = config.account_concurrency - others
    wanted = sum(map(config.reserve_of, config.targets))
    if wanted > most:
        yield Mistake(
            ("targets",),
            f"reserve {wanted} calls of embed at once",
            f"at most {most} (account_concurrency {config.account_concurrency}, less {others} for"
            " other functions): less concurrency, or the quota that your account has",
        )


def _small_shares(config: StageConfig) -> Iterator[Mistake]:
    # Each worker paces itself by its share, and none waits longer than this for a request: with
    # less of a share, all together would send more than the limit.
    minutes = round(LONGEST_COOLDOWN_SECONDS / 60)
    for name, target in config.targets.items():
        workers = config.workers_of(name)
        requests, tokens = target.requests_per_minute, target.tokens_per_minute
        needed = math.ceil(workers / minutes)
        if requests is not None and requests < needed:
            yield Mistake(
                ("targets", name, "requests_per_minute"),
                f"{requests} for {workers} calls of embed at once lets one wait more than"
                f" {minutes} minutes for a request",
                f"at least {needed}, or less concurrency",
            )
        needed = math.ceil(target.request_tokens * workers / minutes)
        if tokens is not None and tokens < needed:
            yield Mistake(
                ("targets", name, "tokens_per_minute"),
                f"{tokens} for {workers} calls of embed at once lets one wait"
                f" more than {minutes} minutes for a request of {target.request_tokens} tokens",
                f"at least {needed}, or a smaller tokens_per_request, or less concurrency",
            )


def _crowded_dead_letters(config: StageConfig) -> Iterator[Mistake]:
    for name in config.targets:
        count = len(config.sequential_sources_of(name))
        if count > SEQUENTIAL_SOURCES:
            wrong = f"{count} sequential sources feed it"
            yield Mistake(("targets", name), wrong, f"at most {SEQUENTIAL_SOURCES} of them")


def _contradicting_metadata(config: StageConfig) -> Iterator[Mistake]:
    for target in config.targets:
        seen: dict[str, tuple[str, str]] = {}
        for name, source in config.sources_of(target).items():
            for field, kind in source.metadata.items():
                other, other_kind = seen.setdefault(field, (name, kind))
                if kind != other_kind:
                    yield Mistake(
                        ("sources", name, "metadata", field),
                        f"is {kind} here and {other_kind} in {other}, and both feed {target}",
                        "one type for a field of one target",
                    )


def _shared_tables(config: StageConfig) -> Iterator[Mistake]:
    seen: dict[str, str] = {}
    for name, source in config.sources.items():
        if source.table is not None and seen.setdefault(source.table.name, name) != name:
            wrong = f"source {seen[source.table.name]} has a table of this name"
            yield Mistake(("sources", name, "table", "arn"), wrong, "each table name once")


def _unreachable_domains(config: StageConfig) -> Iterator[Mistake]:
    domain, vpc = config.opensearch.domain, config.vpc
    if vpc is None and config.opensearch.is_private:
        wrong = "is inside a VPC, where functions of a stage without vpc cannot reach it"
        yield Mistake(("opensearch", "endpoint"), wrong, "add vpc to the stage: that of the domain")
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-opensearchservice-domain-vpcoptions.html
    if vpc is not None and domain is not None and len(vpc.subnets) < domain.zones:
        wrong = (
            f"has {len(vpc.subnets)}, and a domain of {domain.instance_count} instances spreads"
            f" over {domain.zones} zones"
        )
        allowed = f"at least {domain.zones} subnets, each of another zone, or fewer instances"
        yield Mistake(("vpc", "subnets"), wrong, allowed)


def _types_without_documents(config: StageConfig) -> Iterator[Mistake]:
    for name, target in config.targets.items():
        sources = config.sources_of(name).values()
        if any(source.type_attribute is not None for source in sources):
            continue
        types = sorted({source.default_type for source in sources})
        for given in target.retry.types:
            if given not in types:
                path = ("targets", name, "retry", "types", given)
                wrong = "no source that feeds this target has a document of this type"
                yield Mistake(path, wrong, f"{one_of(given, types)}, or a source's type_attribute")


def _long_queue_names(stage: str, config: StageConfig) -> Iterator[Mistake]:
    for target in config.targets:
        queues = {
            ("targets", target): dead_letter_queue_name(stage, target, fifo=True),
            **{
                ("sources", source): lane_queue_name(stage, target, Lane.SEQUENTIAL, source)
                for source in config.sequential_sources_of(target)
            },
        }
        for path, queue in queues.items():
            if len(queue) > QUEUE_NAME_CHARACTERS:
                wrong = f"its queue {queue} has {len(queue)} characters"
                yield Mistake(path, wrong, f"at most {QUEUE_NAME_CHARACTERS}: use a shorter name")


def _long_role_names(stage: str, config: StageConfig) -> Iterator[Mistake]:
    for target in config.targets if config.opensearch.domain_arn else ():
        role = role_name(stage, embed_role(target), LONGEST_REGION)
        if len(role) > ROLE_NAME_CHARACTERS:
            wrong = f"its role {role} has {len(role)} characters"
            allowed = f"at most {ROLE_NAME_CHARACTERS}: use a shorter name"
            yield Mistake(("targets", target), wrong, allowed)
