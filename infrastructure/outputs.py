"""Stack outputs: everything a command line needs to find a deployed stage's parts by name."""

from collections.abc import Iterator

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infrastructure.environment import compact
from infrastructure.monitoring.topics import AlarmTopics
from infrastructure.names import bus_name, pascal
from infrastructure.parts import Parts
from infrastructure.role_mapping import role_mapping

# Outputs are found by their names, so a stack has one set of them.
_ID = "EmbedqOutputs"


def write_outputs(pipeline: Construct, parts: Parts, topics: AlarmTopics) -> None:
    """Write outputs whose names stay the same from deployment to deployment."""
    stack = Stack.of(pipeline)
    if stack.node.try_find_child(_ID) is not None:
        raise ValueError(
            f"{pipeline.node.path}: its stack holds an EmbeddingPipeline already. Give each a"
            " stack of its own: commands find a pipeline by the outputs of its stack"
        )
    outputs = Construct(stack, _ID)
    stores = parts.stores
    values = {
        "Stage": parts.stage,
        "EnqueueFunction": parts.enqueue.function.function_name,
        "IndexSetupFunction": stores.index.setup.function.function_name,
        "SweepFunction": parts.sweep.function.function_name,
        "BackfillFunction": parts.backfill.function.function_name,
        "BreakerFunction": parts.breaker.function.function_name,
        "QueryFunction": parts.query.function.function_name,
        "SearchFunction": parts.search.function.function_name,
        "SearchUrl": parts.search_url.url,
        "LedgerTable": stores.ledger.table.table_name,
        "FailedChangesBucket": stores.failed.bucket.bucket_name,
        "StashBucket": stores.stash.bucket.bucket_name,
        "ErrandsQueueUrl": stores.errands.queue.queue_url,
        "Retention": compact(parts.config.retention),
        "IndexEndpoint": stores.index.endpoint,
        "EventBus": bus_name(parts.config) or "none",
        "WarningTopicArn": topics.warning.topic_arn,
        "CriticalTopicArn": topics.critical.topic_arn,
        **dict(role_mapping(parts)),
        **{name: value for source in stores.tables for name, value in _source(source, parts)},
        **{name: value for target in parts.embeds for name, value in _target(target, parts)},
    }
    for name, value in values.items():
        CfnOutput(outputs, name, value=value).override_logical_id(name)
    for target, key in stores.keys.items():
        if key.is_made_here:
            name = pascal("target", target, "fill-api-key")
            CfnOutput(
                outputs,
                name,
                value=f"aws secretsmanager put-secret-value --secret-id {key.arn}"
                " --secret-string file://key.txt",
                description="Run this once, with the provider's key in key.txt. Until then no"
                " document of this target is embedded.",
            ).override_logical_id(name)


def _source(name: str, parts: Parts) -> Iterator[tuple[str, str]]:
    table = parts.stores.tables[name]
    yield pascal("source", name, "settings"), compact(parts.settings.sources[name])
    yield pascal("source", name, "table"), table.name
    yield pascal("source", name, "stream-arn"), table.stream_arn
    yield pascal("source", name, "mapping-id"), parts.streams[name].ref


def _target(name: str, parts: Parts) -> Iterator[tuple[str, str]]:
    lanes = parts.stores.lanes[name]
    yield pascal("target", name, "settings"), compact(parts.settings.targets[name])
    yield pascal("target", name, "embed-function"), parts.embeds[name].function.function_name
    if name in parts.stores.keys:
        yield pascal("target", name, "api-key-secret-arn"), parts.stores.keys[name].arn
    for queue, mapping in parts.mappings[name].items():
        lane = pascal("target", name, "lane", queue)
        yield f"{lane}Url", lanes.queues[queue].queue_url
        yield f"{lane}MappingId", mapping.event_source_mapping_id
    for fifo, dead in lanes.dead_letters.items():
        kind = "fifo" if fifo else "standard"
        yield pascal("target", name, "dead-letters", kind, "url"), dead.queue_url
