"""The whole pipeline: source -> enqueue -> lanes -> embed -> index, with sweep and breaker."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from aws_cdk import Annotations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from constructs import Construct

from infrastructure.api_key import api_key
from infrastructure.buckets import failed_changes, stash
from infrastructure.config.stage import StageConfig
from infrastructure.encryption import let_logs_use, own_key
from infrastructure.environment import Environments
from infrastructure.errands import Errands
from infrastructure.function_code import PACKAGED, assets, zips
from infrastructure.function_table import FUNCTIONS, FunctionSpec
from infrastructure.given import Given, vpc_by_ids
from infrastructure.grants import grant_all
from infrastructure.lanes import Lanes
from infrastructure.ledger import Ledger
from infrastructure.monitoring.alarms import Alarms
from infrastructure.monitoring.dashboard import Dashboard
from infrastructure.monitoring.health import watch_health
from infrastructure.monitoring.parts import watch_parts
from infrastructure.monitoring.queries import save_queries
from infrastructure.monitoring.topics import AlarmTopics
from infrastructure.names import embed_role, pascal
from infrastructure.outputs import write_outputs
from infrastructure.parts import Parts, Stores
from infrastructure.python_function import PythonFunction
from infrastructure.search import VectorIndex
from infrastructure.sources import read_stream, source_table

Code = Mapping[str, lambda_.Code]


class EmbeddingPipeline(Construct):
    """One stage of embedq, in a stack of yours. A stack holds one: commands read its outputs."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: str,
        settings: Mapping[str, Any] | StageConfig,
        tables: Mapping[str, dynamodb.ITable] | None = None,
        api_keys: Mapping[str, secretsmanager.ISecret] | None = None,
        alarm_topics: Mapping[str, sns.ITopic] | None = None,
        encryption_key: kms.IKey | None = None,
        vpc: ec2.IVpc | None = None,
        subnets: Sequence[ec2.ISubnet] | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        code: Code | None = None,
    ) -> None:
        """`settings` is what cdk.json says of a stage; what you made yourself goes by its name.

        `tables` by source, `api_keys` by target, `alarm_topics` for warning and critical. What is
        made here is under the `encryption_key`. In a
        `vpc` the functions are in its private subnets and in a security group made for them,
        unless others are named. `code` by function is the zips of the wheel if left out.
        """
        super().__init__(scope, id_)
        given = Given(
            tables=tables or {},
            api_keys=api_keys or {},
            topics=alarm_topics or {},
            encryption_key=encryption_key,
            vpc=vpc_by_ids(self, vpc, subnets, security_groups) if vpc else None,
        )
        config = given.checked(self, stage, settings)
        if encryption_key is not None:
            let_logs_use(encryption_key)
        code = assets(zips(PACKAGED)) if code is None else code
        scopes = {name: Construct(self, pascal("target", name)) for name in config.targets}
        stores = self._stores(scopes, given, stage=stage, config=config, code=code)
        self.parts = self._functions(scopes, stores, stage=stage, config=config, code=code)
        grant_all(self.parts)
        topics = AlarmTopics(self, "Topics", config=config, given=given.topics)
        _warn_without_addressee(self, stage, config, topics)
        alarms = Alarms(
            self,
            "Alarms",
            topics=topics,
            runbook=config.alarms.runbook,
            watches=[*watch_parts(self.parts), *watch_health(stage, config)],
        )
        Dashboard(self, "Dashboard", parts=self.parts, alarms=alarms)
        save_queries(Construct(self, "Queries"), self.parts)
        write_outputs(self, self.parts, topics)

    def _stores(
        self,
        scopes: Mapping[str, Construct],
        given: Given,
        *,
        stage: str,
        config: StageConfig,
        code: Code,
    ) -> Stores:
        ledger = Ledger(self, "Ledger", config=config)
        sources = Construct(self, "Sources")
        key = own_key(sources, config)
        return Stores(
            ledger=ledger,
            tables={
                name: given.table(name)
                or source_table(sources, pascal(name), source=source, key=key)
                for name, source in config.sources.items()
            },
            lanes={
                name: Lanes(scope, "Lanes", stage=stage, config=config, target_name=name)
                for name, scope in scopes.items()
            },
            keys={
                name: given.api_key(name)
                or api_key(scope, "ApiKey", target_name=name, config=config)
                for name, scope in scopes.items()
                if config.targets[name].has_api_key
            },
            failed=failed_changes(self, config),
            stash=stash(self, config),
            errands=Errands(self, "Errands", stage=stage, config=config),
            index=VectorIndex(
                self,
                "Index",
                stage=stage,
                config=config,
                code=code,
                ledger_table=ledger.table.table_name,
            ),
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
        search = function(
            self, "Search", spec=FUNCTIONS["search"], environment=settings.search(), role="search"
        )
        for name, embed in embeds.items():
            # New settings reach embed only once the index is there and fits them: a refused model
            # would otherwise write its vectors until the rollback.
            embed.function.node.add_dependency(stores.index.indexes[name])
            # Nor does a write or a search leave a target out whose removal is refused.
            enqueue.function.node.add_dependency(stores.index.indexes[name])
            search.function.node.add_dependency(stores.index.indexes[name])
        mappings = {
            name: stores.lanes[name].feed(
                embed, enabled=config.enabled, after=stores.index.indexes[name]
            )
            for name, embed in embeds.items()
        }
        backfill = function(
            self,
            "Backfill",
            spec=FUNCTIONS["backfill"],
            environment=settings.backfill(),
            role="backfill",
        )
        stores.errands.feed(backfill, enabled=config.enabled)
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
            backfill=backfill,
            query=function(
                self, "Query", spec=FUNCTIONS["query"], environment=settings.query(), role="query"
            ),
            search=search,
            # IAM alone: who may call it, says the policy of the caller.
            search_url=search.function.add_function_url(
                auth_type=lambda_.FunctionUrlAuthType.AWS_IAM
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


def _warn_without_addressee(
    scope: Construct, stage: str, config: StageConfig, topics: AlarmTopics
) -> None:
    if config.removal == "retain" and topics.reaches_no_person:
        Annotations.of(scope).add_warning_v2(
            "embedq:NoAlarmEmails",
            f"stages.{stage}.alarm_emails.critical is empty: alarms reach no person. Add an"
            " address, or subscribe to the topic of the output CriticalTopicArn.",
        )
