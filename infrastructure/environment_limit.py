"""Lambda's limit on environment variables, checked at synth with values as long as they can get."""

from collections.abc import Iterator

from functions.core.lane import lanes_of, queue_name
from infrastructure.config.mistakes import Mistake
from infrastructure.config.stage import StageConfig
from infrastructure.environment import (
    Environments,
    Made,
    Variables,
    telemetry_environment,
)
from infrastructure.names import lane_queue_name

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
        telemetry = telemetry_environment(function, stage=stage, log_level=config.log_level)
        variables = {**environment, **telemetry}
        size = sum(len(f"{key}{value}".encode()) for key, value in variables.items())
        if size > ENVIRONMENT_BYTES:
            yield Mistake(
                _largest_part(variables),
                f"the environment of {function} takes about {size} bytes",
                f"Lambda allows {ENVIRONMENT_BYTES}: use fewer sources, targets and retry.types, or"
                " shorter names",
            )


def _largest_part(variables: Variables) -> tuple[str, ...]:
    """Name the setting that takes most of the room."""
    own = {name: variables.get(name, "") for name in ("SOURCES", "TARGET", "TARGETS", "QUEUES")}
    most = max(own, key=lambda name: len(own[name].encode()))
    return ("sources",) if most == "SOURCES" else ("targets",)


def _expected_environments(stage: str, config: StageConfig) -> dict[str, Variables]:
    queues = {name: _expected_queues(stage, config, name) for name in config.targets}
    environments = Environments(
        stage,
        config,
        Made(
            ledger_table=_GENERATED_NAME,
            index_endpoint=_GENERATED_ADDRESS,
            stash_bucket=_GENERATED_NAME,
            failed_changes_bucket=_GENERATED_NAME,
            tables={
                name: source.table.name if source.table else _GENERATED_NAME
                for name, source in config.sources.items()
            },
            queues=queues,
            secrets=dict.fromkeys(config.targets, _GENERATED_ADDRESS),
        ),
    )
    mappings = {name: dict.fromkeys(found, _MAPPING_ID) for name, found in queues.items()}
    functions = dict.fromkeys(config.targets, _GENERATED_NAME)
    return {
        "enqueue": environments.enqueue(),
        **{f"embed of target {name}": environments.embed(name) for name in config.targets},
        "sweep": environments.sweep(),
        "breaker": environments.breaker(functions, mappings),
    }


def _expected_queues(stage: str, config: StageConfig, target: str) -> dict[str, str]:
    return {
        queue_name(lane, source): _QUEUE_URL + lane_queue_name(stage, target, lane, source)
        for lane, source in lanes_of(config.sequential_sources_of(target))
    }
