"""Lambda's limit on environment variables, asked at synth with values as long as they can get."""

from collections.abc import Iterator

from functions.core.lane import lanes_of, queue_name
from functions.core.settings import GuardedTarget
from infrastructure.config_mistakes import Mistake
from infrastructure.event_bus import bus_name
from infrastructure.function_environment import (
    breaker_environment,
    embed_environment,
    enqueue_environment,
    source_settings,
    sweep_environment,
    target_settings,
    telemetry_environment,
)
from infrastructure.resource_names import lane_queue_name
from infrastructure.stage_config import StageConfig, index_name

# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
ENVIRONMENT_BYTES = 4096

# As long as the values can get that are known only after deployment.
_QUEUE_URL = "https://sqs.ap-southeast-1.amazonaws.com/123456789012/"
_GENERATED_NAME = "x" * 64
_MAPPING_ID = "x" * 36
_GENERATED_ADDRESS = "x" * 128


def large_environments(stage: str, config: StageConfig) -> Iterator[Mistake]:
    """Find functions whose variables would not fit."""
    for function, environment in _expected_environments(stage, config).items():
        telemetry = telemetry_environment(
            function=function, stage=stage, log_level=config.log_level
        )
        variables = {**environment, **telemetry}
        size = sum(len(f"{key}{value}".encode()) for key, value in variables.items())
        if size > ENVIRONMENT_BYTES:
            yield Mistake(
                ("sources",),
                f"the environment of {function} takes about {size} bytes",
                f"Lambda allows {ENVIRONMENT_BYTES}: use fewer sources, targets and retry.types, or"
                " shorter names",
            )


def _expected_environments(stage: str, config: StageConfig) -> dict[str, dict[str, str]]:
    sources = {
        name: source_settings(
            name, source, table=source.table.name if source.table else _GENERATED_NAME
        )
        for name, source in config.sources.items()
    }
    targets = {
        name: target_settings(
            name, target, index=index_name(stage, name, target), workers=config.reserve_of(name)
        )
        for name, target in config.targets.items()
    }
    queues = {name: _expected_queues(stage, config, name) for name in targets}
    enqueue = enqueue_environment(
        ledger_table=_GENERATED_NAME,
        sources=tuple(sources.values()),
        targets=tuple(targets.values()),
        queues=queues,
    )
    embeds = {
        f"embed of target {name}": embed_environment(
            ledger_table=_GENERATED_NAME,
            sources=tuple(sources[source] for source in config.sources_of(name)),
            target=target,
            queues=queues[name],
            index_endpoint=_GENERATED_ADDRESS,
            api_key_secret=_GENERATED_ADDRESS,
            stash_bucket=_GENERATED_NAME,
            event_bus=bus_name(config),
        )
        for name, target in targets.items()
    }
    sweep = sweep_environment(
        enqueue=enqueue,
        index_endpoint=_GENERATED_ADDRESS,
        failed_changes_bucket=_GENERATED_NAME,
        event_bus=bus_name(config),
        stuck_hours=config.stuck_hours,
    )
    breaker = breaker_environment(
        ledger_table=_GENERATED_NAME,
        targets=tuple(
            GuardedTarget(
                name=name,
                embed_function=_GENERATED_NAME,
                mappings=dict.fromkeys(queues[name], _MAPPING_ID),
                settings=target.breaker,
            )
            for name, target in targets.items()
        ),
    )
    return {"enqueue": enqueue, **embeds, "sweep": sweep, "breaker": breaker}


def _expected_queues(stage: str, config: StageConfig, target: str) -> dict[str, str]:
    return {
        queue_name(lane, source): _QUEUE_URL + lane_queue_name(stage, target, lane, source)
        for lane, source in lanes_of(config.sequential_sources_of(target))
    }
