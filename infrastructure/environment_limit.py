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
from infrastructure.names import errands_queue_name, lane_queue_name, pascal, stack_name

# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
ENVIRONMENT_BYTES = 4096

# As long as the values can get that are known only after deployment.
_QUEUE_URL = "https://sqs.ap-southeast-1.amazonaws.com/123456789012/"
_SECRET_ARN = "arn:aws-us-gov:secretsmanager:us-gov-west-1:123456789012:secret:"
_FUNCTION_NAME = "x" * 64
_BUCKET_NAME = "x" * 63
_MAPPING_ID = "x" * 36
_DOMAIN_ADDRESS = "x" * 128
# What the CDK adds to a logical id, and CloudFormation and Secrets Manager to a name.
_HASH = "x" * 8
_SUFFIX = "-" + "x" * 13
_SECRET_SUFFIX = "-" + "x" * 6


def large_environments(stage: str, config: StageConfig) -> Iterator[Mistake]:
    """Find functions whose variables would not fit."""
    for function, variables in expected_environments(stage, config).items():
        size = bytes_of(variables)
        if size > ENVIRONMENT_BYTES:
            yield Mistake(
                _largest_part(variables),
                f"the environment of {function} takes about {size} bytes",
                f"Lambda allows {ENVIRONMENT_BYTES}: use fewer sources, targets and retry.types, or"
                " shorter names",
            )


def bytes_of(variables: Variables) -> int:
    """Count what Lambda counts."""
    return sum(len(f"{key}{value}".encode()) for key, value in variables.items())


def _largest_part(variables: Variables) -> tuple[str, ...]:
    """Name the setting that takes most of the room."""
    own = {name: variables.get(name, "") for name in ("SOURCES", "TARGET", "TARGETS", "QUEUES")}
    most = max(own, key=lambda name: len(own[name].encode()))
    return ("sources",) if most == "SOURCES" else ("targets",)


def expected_environments(stage: str, config: StageConfig) -> dict[str, Variables]:
    """Return the variables of each function, with values as long as they can get."""
    queues = {name: _expected_queues(stage, config, name) for name in config.targets}
    environments = Environments(
        stage,
        config,
        Made(
            ledger_table=_table_name(stage, "LedgerTable"),
            index_endpoint=config.opensearch.endpoint or _DOMAIN_ADDRESS,
            stash_bucket=_BUCKET_NAME,
            failed_changes_bucket=_BUCKET_NAME,
            errands_queue=_QUEUE_URL + errands_queue_name(stage),
            tables={
                name: source.table.name
                if source.table
                else _table_name(stage, f"Sources{pascal(name)}")
                for name, source in config.sources.items()
            },
            queues=queues,
            secrets={
                name: target.api_key_secret_arn or _secret_arn(name)
                for name, target in config.targets.items()
            },
        ),
    )
    mappings = {name: dict.fromkeys(found, _MAPPING_ID) for name, found in queues.items()}
    functions = dict.fromkeys(config.targets, _FUNCTION_NAME)
    own = {
        "enqueue": environments.enqueue(),
        **{f"embed of target {name}": environments.embed(name) for name in config.targets},
        "sweep": environments.sweep(),
        "backfill": environments.backfill(),
        "breaker": environments.breaker(functions, mappings),
        "search": environments.search(),
    }
    return {
        name: variables
        | telemetry_environment(name.split()[0], stage=stage, log_level=config.log_level)
        for name, variables in own.items()
    }


def _expected_queues(stage: str, config: StageConfig, target: str) -> dict[str, str]:
    return {
        queue_name(lane, source): _QUEUE_URL + lane_queue_name(stage, target, lane, source)
        for lane, source in lanes_of(config.sequential_sources_of(target))
    }


def _table_name(stage: str, logical_id: str) -> str:
    return f"{stack_name(stage)}-{logical_id}{_HASH}{_SUFFIX}"


def _secret_arn(target: str) -> str:
    return f"{_SECRET_ARN}{pascal('target', target, 'api-key')}{_HASH}{_SUFFIX}{_SECRET_SUFFIX}"
