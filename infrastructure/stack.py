"""The whole pipeline: source -> enqueue -> lanes -> embed -> index, with sweep and breaker."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from aws_cdk import Annotations, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infrastructure.api_key import api_key
from infrastructure.buckets import failed_changes, stash
from infrastructure.config.stage import StageConfig
from infrastructure.environment import Environments
from infrastructure.function_table import FUNCTIONS, FunctionSpec
from infrastructure.grants import grant_all
from infrastructure.lanes import Lanes
from infrastructure.ledger import Ledger
from infrastructure.monitoring.alarms import Alarms
from infrastructure.monitoring.health import watch_health
from infrastructure.monitoring.topics import AlarmTopics
from infrastructure.names import embed_role, pascal, stack_name
from infrastructure.outputs import write_outputs
from infrastructure.parts import Parts, Stores
from infrastructure.python_function import PythonFunction
from infrastructure.search import VectorIndex
from infrastructure.sources import read_stream, source_table

Code = Mapping[str, lambda_.Code]


class PipelineStack(Stack):
    """One stage of embedq."""

    def __init__(self, scope: Construct, *, stage: str, config: StageConfig, code: Code) -> None:
        super().__init__(
            scope,
            stack_name(stage),
            description=f"embedq, stage {stage}: DynamoDB changes become vectors in OpenSearch",
            termination_protection=config.removal == "retain",
        )
        scopes = {name: Construct(self, pascal("target", name)) for name in config.targets}
        stores = self._stores(scopes, stage=stage, config=config, code=code)
        parts = self._functions(scopes, stores, stage=stage, config=config, code=code)
        grant_all(parts)
        if config.removal == "retain" and not config.alarm_emails.critical:
            Annotations.of(self).add_warning_v2(
                "embedq:NoAlarmEmails",
                f"stages.{stage}.alarm_emails.critical is empty: alarms reach no person. Add an"
                " address, or subscribe to the topic of the output CriticalTopicArn.",
            )
        topics = AlarmTopics(self, "Topics", config=config)
        alarms = Alarms(self, "Alarms", topics=topics)
        alarms.watch(parts)
        watch_health(alarms, stage)
        write_outputs(self, parts, topics)

    def _stores(
        self, scopes: Mapping[str, Construct], *, stage: str, config: StageConfig, code: Code
    ) -> Stores:
        ledger = Ledger(self, "Ledger", config=config)
        sources = Construct(self, "Sources")
        return Stores(
            ledger=ledger,
            tables={
                name: source_table(sources, pascal(name), source=source, config=config)
                for name, source in config.sources.items()
            },
            lanes={
                name: Lanes(scope, "Lanes", stage=stage, config=config, target_name=name)
                for name, scope in scopes.items()
            },
            keys={
                name: api_key(scope, "ApiKey", target_name=name, config=config)
                for name, scope in scopes.items()
            },
            failed=failed_changes(self, config),
            stash=stash(self, config),
            index=VectorIndex(self, "Index", stage=stage, config=config, code=code),
        )

    def _functions(
        self,
        scopes: Mapping[str, Construct],
        stores: Stores,
        *,
        stage: str,
        config: StageConfig,
        code: Code,
    ) -> Parts:
        function = partial(PythonFunction, stage=stage, config=config, code=code)
        settings = Environments(stage, config, stores.made)
        enqueue = function(
            self,
            "Enqueue",
            spec=FUNCTIONS["enqueue"],
            environment=settings.enqueue(),
            role="enqueue",
        )
        embeds = {
            name: function(
                scope,
                "Embed",
                spec=_embed(name, config),
                environment=settings.embed(name),
                role=embed_role(name),
            )
            for name, scope in scopes.items()
        }
        for name, embed in embeds.items():
            # New settings reach embed only once the index is there and fits them: a refused model
            # would otherwise write its vectors until the rollback.
            embed.function.node.add_dependency(stores.index.indexes[name])
        mappings = {
            name: stores.lanes[name].feed(
                embed, enabled=config.enabled, after=stores.index.indexes[name]
            )
            for name, embed in embeds.items()
        }
        return Parts(
            stage=stage,
            config=config,
            stores=stores,
            settings=settings,
            enqueue=enqueue,
            streams={
                name: read_stream(enqueue, name, table, config=config, failed=stores.failed.bucket)
                for name, table in stores.tables.items()
            },
            embeds=embeds,
            mappings=mappings,
            sweep=function(
                self, "Sweep", spec=FUNCTIONS["sweep"], environment=settings.sweep(), role="sweep"
            ),
            breaker=function(
                self,
                "Breaker",
                spec=FUNCTIONS["breaker"],
                role="breaker",
                environment=settings.breaker(
                    {name: embed.function.function_name for name, embed in embeds.items()},
                    # Breaker sees only mappings that the stage has switched on.
                    {
                        name: {queue: one.event_source_mapping_id for queue, one in found.items()}
                        if config.enabled
                        else {}
                        for name, found in mappings.items()
                    },
                ),
            ),
        )


def _embed(target_name: str, config: StageConfig) -> FunctionSpec:
    target = config.targets[target_name]
    return replace(
        FUNCTIONS["embed"],
        timeout_seconds=target.timeout_seconds,
        memory_mb=target.memory_mb,
        reserved_concurrency=config.reserve_of(target_name),
    )
