"""Rules of AWS that span several parts of a stage, checked at synth instead of at deployment."""

import math
from collections.abc import Iterator

from functions.core.control import LONGEST_COOLDOWN_SECONDS
from functions.core.lane import Lane
from functions.core.names import CONTROL_PREFIX
from infrastructure.config.mistakes import Mistake
from infrastructure.config.stage import StageConfig
from infrastructure.environment_limit import large_environments
from infrastructure.names import (
    QUEUE_NAME_CHARACTERS,
    dead_letter_queue_name,
    index_name,
    lane_queue_name,
)

# A DLQ's allow policy names at most ten queues, and high and normal are two of them:
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
SEQUENTIAL_SOURCES = 8


def broken_rules(stage: str, config: StageConfig) -> list[Mistake]:
    """List every mistake that only shows when the parts of a stage are seen together."""
    mistakes = [*_unknown_targets(config)]
    if mistakes:
        return mistakes
    return [
        *_reserved_names(config),
        *_idle_targets(config),
        *_small_reserves(config),
        *_small_shares(config),
        *_crowded_dead_letters(config),
        *_contradicting_metadata(config),
        *_shared_tables(config),
        *_shared_indexes(stage, config),
        *_long_queue_names(stage, config),
        *large_environments(stage, config),
    ]


def _unknown_targets(config: StageConfig) -> Iterator[Mistake]:
    known = ", ".join(config.targets)
    for name, source in config.sources.items():
        for target in source.targets:
            if target not in config.targets:
                path = ("sources", name, "targets")
                yield Mistake(path, f'"{target}" is no target of this stage', f"one of {known}")


def _reserved_names(config: StageConfig) -> Iterator[Mistake]:
    # A row's key begins with its target's name; this begins the keys of other items.
    if CONTROL_PREFIX in config.targets:
        path = ("targets", CONTROL_PREFIX)
        yield Mistake(path, "is a name of embedq's own", f"any name but {CONTROL_PREFIX}")


def _idle_targets(config: StageConfig) -> Iterator[Mistake]:
    for target in config.targets:
        if not config.sources_of(target):
            allowed = "name it in a source's targets"
            yield Mistake(("targets", target), "no source feeds it", allowed)


def _small_reserves(config: StageConfig) -> Iterator[Mistake]:
    # The mapping knows nothing of the reserve: what the function refuses is received again and
    # counts toward the DLQ. https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
    for name, target in config.targets.items():
        sequential = len(config.sequential_sources_of(name))
        needed = target.concurrency.total(sequential_sources=sequential)
        if config.reserve_of(name) < needed:
            yield Mistake(
                ("targets", name, "reserved_concurrency"),
                f"{target.reserved_concurrency} is less than the lanes' concurrency",
                f"at least {needed}, the sum of the lanes, or leave it out",
            )


def _small_shares(config: StageConfig) -> Iterator[Mistake]:
    # Each worker paces itself by its share, and none waits longer than this for a request: with
    # less of a share, all together would send more than the limit.
    minutes = round(LONGEST_COOLDOWN_SECONDS / 60)
    for name, target in config.targets.items():
        workers = config.reserve_of(name)
        needed = math.ceil(target.request_tokens * workers / minutes)
        if target.tokens_per_minute is not None and target.tokens_per_minute < needed:
            yield Mistake(
                ("targets", name, "tokens_per_minute"),
                f"{target.tokens_per_minute} for {workers} calls of embed at once lets one wait"
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


def _shared_indexes(stage: str, config: StageConfig) -> Iterator[Mistake]:
    seen: dict[str, str] = {}
    for name, target in config.targets.items():
        index = index_name(stage, name, target)
        if seen.setdefault(index, name) != name:
            wrong = f'"{index}" is the index of target {seen[index]}'
            yield Mistake(("targets", name, "index"), wrong, "an index for each target")


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
