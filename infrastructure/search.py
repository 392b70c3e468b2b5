"""Where the entries go: a domain or an endpoint, and an index that exists before any task."""

import json
from collections.abc import Mapping

from aws_cdk import CfnDeletionPolicy, CfnUpdatePolicy, CustomResource, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_opensearchservice as opensearch
from constructs import Construct

from functions.core.names import read_alias
from infrastructure.config.opensearch import DomainConfig
from infrastructure.config.stage import StageConfig
from infrastructure.encryption import own_key
from infrastructure.function_table import FUNCTIONS
from infrastructure.names import index_name, pascal, replaced_indexes, stack_name
from infrastructure.network import Network, network_of
from infrastructure.python_function import PythonFunction
from infrastructure.removal import removal_policy, set_retention


class SearchDomain(Construct):
    """Hold the indexes of every target: encrypted, and open to signed calls only."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: str,
        config: StageConfig,
        domain: DomainConfig,
        network: Network | None,
    ) -> None:
        super().__init__(scope, id_)
        name = stack_name(stage)
        # Built from the name: a domain that refers to itself in its policy would be a circle.
        self.arn = Stack.of(self).format_arn(service="es", resource="domain", resource_name=name)
        key = own_key(self, config)
        group = logs.LogGroup(
            self, "Logs", removal_policy=removal_policy(config), encryption_key=key
        )
        set_retention(group, config)
        # The low-level resource, because the construct above it brings a function of its own that
        # may change any domain. No access policy: what it allowed, it would allow beside the
        # functions' own policies, which name single paths.
        self._domain = opensearch.CfnDomain(
            self,
            "Domain",
            domain_name=name,
            engine_version=domain.version,
            cluster_config=_cluster(domain),
            vpc_options=_vpc_options(config, domain, network),
            ebs_options=opensearch.CfnDomain.EBSOptionsProperty(
                ebs_enabled=True, volume_type="gp3", volume_size=domain.volume_gb
            ),
            encryption_at_rest_options=opensearch.CfnDomain.EncryptionAtRestOptionsProperty(
                enabled=True, kms_key_id=key.key_id if key else None
            ),
            node_to_node_encryption_options=(
                opensearch.CfnDomain.NodeToNodeEncryptionOptionsProperty(enabled=True)
            ),
            domain_endpoint_options=opensearch.CfnDomain.DomainEndpointOptionsProperty(
                enforce_https=True, tls_security_policy="Policy-Min-TLS-1-2-PFS-2023-10"
            ),
            # A bulk body must not name an index of its own: the functions' policies are by path.
            advanced_options={"rest.action.multi.allow_explicit_index": "false"},
            log_publishing_options={
                "ES_APPLICATION_LOGS": opensearch.CfnDomain.LogPublishingOptionProperty(
                    cloud_watch_logs_log_group_arn=group.log_group_arn, enabled=True
                )
            },
        )
        self._domain.node.add_dependency(self._permission_to_log(group))
        self._domain.apply_removal_policy(removal_policy(config))
        # A change that needs a new domain (its name) is a move of data that a person decides.
        self._domain.cfn_options.update_replace_policy = CfnDeletionPolicy.RETAIN
        # Another version is an upgrade in place; without this it is a new domain of the same name.
        self._domain.cfn_options.update_policy = CfnUpdatePolicy(enable_version_upgrade=True)
        self.endpoint = f"https://{self._domain.attr_domain_endpoint}"

    def _permission_to_log(self, group: logs.LogGroup) -> logs.ResourcePolicy:
        return logs.ResourcePolicy(
            self,
            "LogsPolicy",
            policy_statements=[
                iam.PolicyStatement(
                    principals=[iam.ServicePrincipal("es.amazonaws.com")],
                    actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                    resources=[group.log_group_arn],
                    # No other account's domain writes here.
                    conditions={
                        "StringEquals": {"aws:SourceAccount": Stack.of(self).account},
                        "ArnLike": {"aws:SourceArn": self.arn},
                    },
                )
            ],
        )


def _cluster(domain: DomainConfig) -> opensearch.CfnDomain.ClusterConfigProperty:
    masters = domain.dedicated_masters
    zones = opensearch.CfnDomain.ZoneAwarenessConfigProperty(availability_zone_count=domain.zones)
    return opensearch.CfnDomain.ClusterConfigProperty(
        instance_type=domain.instance_type,
        instance_count=domain.instance_count,
        zone_awareness_enabled=domain.zones > 1,
        zone_awareness_config=zones if domain.zones > 1 else None,
        dedicated_master_enabled=masters is not None,
        dedicated_master_type=masters.instance_type if masters else None,
        dedicated_master_count=masters.count if masters else None,
    )


def _vpc_options(
    config: StageConfig, domain: DomainConfig, network: Network | None
) -> opensearch.CfnDomain.VPCOptionsProperty | None:
    if config.vpc is None or network is None:
        return None
    # One subnet for each zone, and no other number is accepted:
    # https://docs.aws.amazon.com/opensearch-service/latest/developerguide/vpc.html
    return opensearch.CfnDomain.VPCOptionsProperty(
        subnet_ids=list(config.vpc.subnets[: domain.zones]),
        security_group_ids=[network.group.attr_group_id],
    )


class VectorIndex(Construct):
    """Offer one index, behind an alias, to each target."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stage: str,
        config: StageConfig,
        code: Mapping[str, lambda_.Code],
        ledger_table: str,
    ) -> None:
        super().__init__(scope, id_)
        self._stage = stage
        self._config = config
        self._replaced = replaced_indexes(stage, config)
        self.endpoint = config.opensearch.endpoint or ""
        # None: an endpoint outside AWS, where IAM grants nothing.
        self._domain_arn = config.opensearch.domain_arn
        self._network = network_of(self, "Network", config)
        if config.opensearch.domain is not None:
            domain = SearchDomain(
                self,
                "Search",
                stage=stage,
                config=config,
                domain=config.opensearch.domain,
                network=self._network,
            )
            self.endpoint, self._domain_arn = domain.endpoint, domain.arn
        self.setup = PythonFunction(
            self,
            "IndexSetup",
            spec=FUNCTIONS["index_setup"],
            stage=stage,
            config=config,
            code=code,
            environment={
                "INDEX_ENDPOINT": self.endpoint,
                "LEDGER_TABLE": ledger_table,
                "INDEXES": json.dumps(self._replaced, separators=(",", ":")),
            },
            role="index-setup",
        )
        self.indexes = {target: self._index(target) for target in config.targets}
        for name, target in config.targets.items():
            if target.replaces:
                # Who turns the direction round is refused at the new first one, before the other
                # is touched: taking that back would look like turning it round again.
                self.indexes[name].node.add_dependency(self.indexes[target.replaces])

    def paths(self, *paths: str) -> list[str]:
        """Name paths of the domain as IAM resources."""
        return [f"{self._domain_arn}/{path}" for path in paths] if self._domain_arn else []

    def _index(self, target_name: str) -> CustomResource:
        target = self._config.targets[target_name]
        replicas = target.replicas
        if replicas is None:
            replicas = self._config.opensearch.default_replicas
        name = index_name(self._stage, target_name, target)
        index = CustomResource(
            self,
            pascal(target_name, "index"),
            resource_type="Custom::EmbedqIndex",
            service_token=self.setup.function.function_arn,
            # The function answers by itself; without this a lost answer holds the deployment
            # for an hour.
            service_timeout=Duration.seconds(2 * self.setup.spec.timeout_seconds),
            # Retained with the data: the function is not called to delete a kept index.
            removal_policy=removal_policy(self._config),
            properties={
                "Target": target_name,
                # Another place lacks the index: without a changed property it is not made there.
                "Endpoint": self.endpoint,
                "Index": name,
                "Model": target.model,
                "Dimensions": target.vector_dimensions,
                "Metadata": self._config.metadata_of(target_name),
                "Shards": target.shards,
                "Replicas": replicas,
                "Compression": target.compression,
                # An index of an earlier version lacks it: a new property calls the function.
                "ReadAlias": read_alias(name),
                **self._migration(name),
            },
        )
        if self._network is not None:
            # The function answers CloudFormation through S3: its endpoint is there before, and
            # as long as the index is.
            index.node.add_dependency(self._network)
        return index

    def _migration(self, index: str) -> dict[str, str]:
        """Name the alias that two targets share while one replaces the other.

        A deployment that takes one of them away changes this property of the one that stays: the
        function is called, and refuses if the alias leads to the other.
        """
        both = [pair for pair in self._replaced.items() if pair[1] and index in pair]
        return {"SharedAlias": read_alias(both[0][1])} if both else {}
