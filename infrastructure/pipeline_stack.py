"""The whole pipeline in flow order: source -> enqueue -> lanes -> embed -> index -> caretakers."""

from collections.abc import Mapping

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infrastructure import grants
from infrastructure.alarm_topics import AlarmTopics
from infrastructure.alarms import Alarms
from infrastructure.api_key import ApiKey, api_key
from infrastructure.caretakers import add_breaker, add_sweep
from infrastructure.embed_function import EmbedFunction
from infrastructure.enqueue_function import EnqueueFunction
from infrastructure.event_bus import bus_arns, bus_name
from infrastructure.failed_changes import FailedChanges
from infrastructure.function_environment import Environments, Made
from infrastructure.grants import allow
from infrastructure.health_alarms import watch_health
from infrastructure.lanes import Lanes
from infrastructure.ledger import Ledger
from infrastructure.outputs import Outputs
from infrastructure.pipeline_parts import PipelineParts, TargetParts
from infrastructure.resource_names import pascal, stack_name
from infrastructure.source_table import SourceTable, source_table
from infrastructure.stage_config import StageConfig
from infrastructure.stash import Stash
from infrastructure.vector_index import VectorIndex


class PipelineStack(Stack):
    """One stage of embedq."""

    def __init__(
        self, scope: Construct, *, stage: str, config: StageConfig, code: Mapping[str, lambda_.Code]
    ) -> None:
        super().__init__(
            scope,
            stack_name(stage),
            description=f"embedq, stage {stage}: DynamoDB changes become vectors in OpenSearch",
            termination_protection=config.removal == "retain",
        )
        self._stage = stage
        self._config = config
        self._outputs = Outputs(self)
        self._topics = AlarmTopics(self, "Topics", config=config)
        self._alarms = Alarms(self, "Alarms", topics=self._topics)

        self._ledger = Ledger(self, "Ledger", config=config)
        tables = Construct(self, "Sources")
        self._tables = {
            name: source_table(tables, pascal(name), source=source, config=config)
            for name, source in config.sources.items()
        }
        self._targets = {name: self._target(name) for name in config.targets}
        self._failed = FailedChanges(self, "FailedChanges", config=config)
        self._index = VectorIndex(
            self, "Index", stage=stage, config=config, code=code["index_setup"]
        )
        self._stash = Stash(self, "Stash", config=config)
        self._environments = Environments(
            stage,
            config,
            Made(
                ledger_table=self._ledger.table.table_name,
                index_endpoint=self._index.endpoint,
                stash_bucket=self._stash.bucket.bucket_name,
                failed_changes_bucket=self._failed.bucket.bucket_name,
                tables={name: table.name for name, table in self._tables.items()},
                queues={name: target.lanes.urls for name, target in self._targets.items()},
                secrets={name: target.key.arn for name, target in self._targets.items()},
            ),
        )
        self._enqueue(code["enqueue"])
        embeds = {name: self._embed(name, code["embed"]) for name in self._targets}
        self._finish_index()
        self._care(
            PipelineParts(
                stage=stage,
                environments=self._environments,
                config=config,
                ledger=self._ledger,
                targets=self._targets,
                embeds=embeds,
                index=self._index,
                failed=self._failed,
            ),
            code,
        )
        self._outputs.add("StashBucket", self._stash.bucket.bucket_name)
        self._outputs.add("LedgerTable", self._ledger.table.table_name)
        self._outputs.add_topics(self._topics)

    def _target(self, name: str) -> TargetParts:
        config = self._config.targets[name]
        scope = Construct(self, pascal("target", name))
        lanes = Lanes(
            scope,
            "Lanes",
            stage=self._stage,
            target_name=name,
            target=config,
            sequential_sources=self._config.sequential_sources_of(name),
        )
        self._alarms.watch_lanes(name, lanes)
        key = api_key(scope, "ApiKey", target_name=name, target=config, config=self._config)
        return TargetParts(scope, lanes, key)

    def _enqueue(self, code: lambda_.Code) -> None:
        failed = self._failed
        enqueue = EnqueueFunction(
            self,
            "Enqueue",
            stage=self._stage,
            config=self._config,
            code=code,
            environment=self._environments.enqueue(),
        )
        for name, source in self._config.sources.items():
            table = self._tables[name]
            enqueue.read(name, table, stream=source.stream, failed=failed.bucket)
            self._outputs.add_source(self._environments.sources[name], table, enqueue)
        queues = [q for target in self._targets.values() for q in target.lanes.queues.values()]
        allow(enqueue.role, grants.READ_STREAM, [t.stream_arn for t in self._tables.values()])
        allow(enqueue.role, grants.DECRYPT, _keys(*self._tables.values()))
        allow(enqueue.role, grants.SWAP_ROWS, [self._ledger.table.table_arn])
        allow(enqueue.role, grants.SEND_TASKS, [queue.queue_arn for queue in queues])
        allow(enqueue.role, grants.LIST_BUCKET, [failed.bucket.bucket_arn])
        allow(
            enqueue.role,
            grants.WRITE_OBJECTS,
            [failed.objects_arn],
            wildcard_reason="Lambda names the objects of failed records below a prefix of its own.",
        )
        self._alarms.watch_streams(enqueue)
        self._alarms.watch_function(
            "enqueue", enqueue.function, effect="Changes wait in the stream, up to 24 hours."
        )
        self._outputs.add("EnqueueFunction", enqueue.function.function_name)
        self._outputs.add("FailedChangesBucket", failed.bucket.bucket_name)

    def _embed(self, name: str, code: lambda_.Code) -> EmbedFunction:
        target = self._targets[name]
        settings = self._environments.targets[name]
        fed_by = tuple(self._config.sources_of(name))
        embed = EmbedFunction(
            target.scope,
            "Embed",
            stage=self._stage,
            config=self._config,
            target_name=name,
            code=code,
            environment=self._environments.embed(name),
        )
        embed.read(target.lanes, after=self._index.indexes[name])
        tables = [self._tables[source] for source in fed_by]
        allow(embed.role, grants.RECEIVE_TASKS, target.lanes.arns())
        allow(embed.role, grants.SEND_TASKS, target.lanes.arns(fifo_only=True))
        allow(embed.role, grants.READ_ITEMS, [table.arn for table in tables])
        allow(embed.role, grants.SWAP_ROWS, [self._ledger.table.table_arn])
        allow(
            embed.role,
            grants.READ_AND_CHANGE_ITEM,
            [self._ledger.table.table_arn],
            only=grants.control_items(name),
        )
        allow(embed.role, grants.PUT_EVENTS, bus_arns(self, self._config), only=grants.OWN_EVENTS)
        allow(embed.role, grants.READ_SECRET, [target.key.arn])
        allow(embed.role, grants.DECRYPT, _keys(*tables, target.key))
        allow(embed.role, grants.LIST_BUCKET, [self._stash.bucket.bucket_arn])
        allow(
            embed.role,
            grants.READ_AND_WRITE_OBJECTS,
            [self._stash.objects_arn],
            wildcard_reason="The stash has one object per row, named by the row's hash.",
        )
        index = settings.index
        paths = self._index.paths(f"{index}/_mget", f"{index}/_bulk")
        allow(embed.role, grants.READ_AND_WRITE_ENTRIES, paths)
        self._alarms.watch_function(
            f"embed-{name}", embed.function, effect="Tasks wait in their lanes and are tried again."
        )
        self._outputs.add_target(settings, lanes=target.lanes, embed=embed, key=target.key)
        return embed

    def _care(self, parts: PipelineParts, code: Mapping[str, lambda_.Code]) -> None:
        sweep = add_sweep(self, parts, code=code["sweep"])
        breaker = add_breaker(self, parts, code=code["breaker"])
        self._alarms.watch_function(
            "sweep",
            sweep.function,
            effect="Parked, stuck and healing documents wait until it runs again.",
            is_vital=True,
        )
        self._alarms.watch_function(
            "breaker",
            breaker.function,
            effect="Lanes are neither paused in an outage nor brought back after one.",
            is_vital=True,
        )
        watch_health(self._alarms, self._stage)
        self._outputs.add("SweepFunction", sweep.function.function_name)
        self._outputs.add("BreakerFunction", breaker.function.function_name)
        self._outputs.add("EventBus", bus_name(self._config) or "none")

    def _finish_index(self) -> None:
        setup = self._index.setup
        for target in self._environments.targets.values():
            alias = target.index
            mapping = self._index.paths(f"{alias}/_mapping")
            # A new index stands behind its alias, under the alias's name and a number.
            allow(setup.role, grants.READ_MAPPING, mapping)
            allow(setup.role, grants.CHANGE_INDEX, [*mapping, *self._index.paths(f"{alias}-1")])
        self._alarms.watch_function(
            "index-setup", setup.function, effect="A deployment waits for it or was rolled back."
        )
        self._outputs.add("IndexSetupFunction", setup.function.function_name)
        self._outputs.add("IndexEndpoint", self._index.endpoint)


def _keys(*encrypted: SourceTable | ApiKey) -> list[str]:
    return [part.encryption_key_arn for part in encrypted if part.encryption_key_arn]
