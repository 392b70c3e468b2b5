"""What looks after the pipeline: sweep and breaker, each with what it may do."""

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_

from infrastructure import grants
from infrastructure.breaker_function import BreakerFunction
from infrastructure.embed_function import EmbedFunction
from infrastructure.event_bus import bus_arns
from infrastructure.grants import allow
from infrastructure.pipeline_parts import PipelineParts
from infrastructure.sweep_function import SweepFunction


def add_sweep(stack: Stack, parts: PipelineParts, *, code: lambda_.Code) -> SweepFunction:
    """Add sweep."""
    config = parts.config
    sweep = SweepFunction(
        stack,
        "Sweep",
        stage=parts.stage,
        config=config,
        code=code,
        environment=parts.environments.sweep(),
    )
    table = parts.ledger.table.table_arn
    queues = [arn for target in parts.targets.values() for arn in target.lanes.arns()]
    # What it removes, it asks for first.
    calls = [
        f"{t.index}/{c}" for t in parts.environments.targets.values() for c in ("_bulk", "_mget")
    ]
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
        environment=parts.environments.breaker(
            {name: embed.function.function_name for name, embed in parts.embeds.items()},
            {name: _switched_on(embed, parts) for name, embed in parts.embeds.items()},
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


def _switched_on(embed: EmbedFunction, parts: PipelineParts) -> dict[str, str]:
    mappings = embed.mappings if parts.config.enabled else {}
    return {queue: mapping.event_source_mapping_id for queue, mapping in mappings.items()}
