"""What looks after the pipeline: sweep and breaker, each with what it may do."""

from collections.abc import Mapping

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_

from functions.core.settings import GuardedTarget
from infrastructure import grants
from infrastructure.breaker_function import BreakerFunction
from infrastructure.event_bus import bus_arns, bus_name
from infrastructure.function_environment import breaker_environment, sweep_environment
from infrastructure.grants import allow
from infrastructure.pipeline_parts import PipelineParts
from infrastructure.sweep_function import SweepFunction


def add_sweep(
    stack: Stack, parts: PipelineParts, *, code: lambda_.Code, enqueue: Mapping[str, str]
) -> SweepFunction:
    """Add sweep; it does enqueue's work too, so it gets enqueue's variables."""
    config = parts.config
    sweep = SweepFunction(
        stack,
        "Sweep",
        stage=parts.stage,
        config=config,
        code=code,
        environment=sweep_environment(
            enqueue=enqueue,
            index_endpoint=parts.index.endpoint,
            failed_changes_bucket=parts.failed.bucket.bucket_name,
            event_bus=bus_name(config),
            stuck_hours=config.stuck_hours,
        ),
    )
    table = parts.ledger.table.table_arn
    queues = [arn for target in parts.targets.values() for arn in target.lanes.arns()]
    # What it removes, it asks for first.
    calls = [f"{t.settings.index}/{c}" for t in parts.targets.values() for c in ("_bulk", "_mget")]
    allow(sweep.role, grants.LIST_ROWS, [parts.ledger.index_arn])
    allow(sweep.role, grants.SWAP_ROWS, [table])
    allow(sweep.role, grants.REMOVE_ROWS, [table])
    allow(sweep.role, grants.READ_ITEM, [table])
    allow(sweep.role, grants.SEND_TASKS, queues)
    allow(sweep.role, grants.COUNT_TASKS, queues)
    allow(sweep.role, grants.READ_AND_WRITE_ENTRIES, parts.index.paths(*calls))
    allow(sweep.role, grants.LIST_BUCKET, [parts.failed.bucket.bucket_arn])
    allow(
        sweep.role,
        grants.TAKE_OBJECTS,
        [parts.failed.objects_arn],
        wildcard_reason="Lambda names the objects of failed records below a prefix of its own.",
    )
    allow(sweep.role, grants.PUT_EVENTS, bus_arns(stack, config), only=grants.OWN_EVENTS)
    return sweep


def add_breaker(stack: Stack, parts: PipelineParts, *, code: lambda_.Code) -> BreakerFunction:
    """Add breaker; it sees only mappings that the stage has switched on."""
    breaker = BreakerFunction(
        stack,
        "Breaker",
        stage=parts.stage,
        config=parts.config,
        code=code,
        environment=breaker_environment(
            ledger_table=parts.ledger.table.table_name,
            targets=tuple(_guarded(name, parts) for name in parts.targets),
        ),
    )
    mappings = [m for embed in parts.embeds.values() for m in embed.mappings.values()]
    allow(
        breaker.role,
        grants.READ_AND_CHANGE_ITEM,
        [parts.ledger.table.table_arn],
        only=grants.control_items(*parts.targets),
    )
    allow(
        breaker.role,
        grants.SWITCH_MAPPINGS,
        [mapping.event_source_mapping_arn for mapping in mappings],
    )
    allow(
        breaker.role,
        grants.CALL_FUNCTION,
        [embed.function.function_arn for embed in parts.embeds.values()],
    )
    return breaker


def _guarded(name: str, parts: PipelineParts) -> GuardedTarget:
    embed = parts.embeds[name]
    mappings = embed.mappings if parts.config.enabled else {}
    return GuardedTarget(
        name=name,
        embed_function=embed.function.function_name,
        mappings={queue: mapping.event_source_mapping_id for queue, mapping in mappings.items()},
        settings=parts.targets[name].settings.breaker,
    )
