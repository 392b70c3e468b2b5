"""What an app made itself and hands to EmbeddingPipeline: checked against the settings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import Stack, Token
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from constructs import Construct

from infrastructure.api_key import ApiKey
from infrastructure.config.mistakes import ConfigError, Mistake, one_of
from infrastructure.config.parser import parse_stage
from infrastructure.config.places import elsewhere
from infrastructure.config.stage import StageConfig
from infrastructure.config.vpc import VpcConfig
from infrastructure.sources import SourceTable

SEVERITIES = ("warning", "critical")


@dataclass(frozen=True)
class Given:
    """Tables by source, secrets by target, topics by severity, the KMS key and the VPC."""

    tables: Mapping[str, dynamodb.ITable]
    api_keys: Mapping[str, secretsmanager.ISecret]
    topics: Mapping[str, sns.ITopic]
    encryption_key: kms.IKey | None
    vpc: VpcConfig | None

    def checked(
        self, pipeline: Construct, stage: str, settings: Mapping[str, Any] | StageConfig
    ) -> StageConfig:
        """Return the settings, or raise every mistake in them and in what is given."""
        try:
            config = (
                settings if isinstance(settings, StageConfig) else self._parsed(stage, settings)
            )
            stack = Stack.of(pipeline)
            away = elsewhere(config, region=_known(stack.region), account=_known(stack.account))
            if mistakes := [*away, *self._mistakes(config, stack)]:
                raise ConfigError(mistakes)
        except ConfigError as error:
            place = f"EmbeddingPipeline {pipeline.node.path}"
            raise ConfigError(error.mistakes, place=place) from None
        if self.encryption_key is None:
            return config
        # After the rules: its ARN may be known only once it is deployed.
        return config.model_copy(update={"encryption_key_arn": self.encryption_key.key_arn})

    def _parsed(self, stage: str, settings: Mapping[str, Any]) -> StageConfig:
        if self.vpc is None:
            return parse_stage(stage, settings)
        if "vpc" in settings:
            raise ConfigError([Mistake(("vpc",), "is given, and a setting too", "one of the two")])
        # Ids that are not known yet fit no pattern: all other rules see as many that do.
        known = {
            "id": f"vpc-{0:08x}",
            "subnets": [f"subnet-{number:08x}" for number in range(len(self.vpc.subnets))],
            "security_groups": [f"sg-{n:08x}" for n in range(len(self.vpc.security_groups))],
            "endpoints": self.vpc.endpoints,
        }
        return parse_stage(stage, {**settings, "vpc": known}).model_copy(update={"vpc": self.vpc})

    def table(self, source: str) -> SourceTable | None:
        """Return the table that is given for a source."""
        if (table := self.tables.get(source)) is None:
            return None
        key = table.encryption_key
        return SourceTable(
            table.table_name,
            table.table_arn,
            table.table_stream_arn or "",
            None if key is None else key.key_arn,
        )

    def api_key(self, target: str) -> ApiKey | None:
        """Return the secret that is given for a target."""
        if (secret := self.api_keys.get(target)) is None:
            return None
        key = secret.encryption_key
        return ApiKey(secret.secret_full_arn or "", None if key is None else key.key_arn, False)

    def _mistakes(self, config: StageConfig, stack: Stack) -> Iterator[Mistake]:
        tables = {name: one.table for name, one in config.sources.items()}
        secrets = {name: one.api_key_secret_arn for name, one in config.targets.items()}
        emails = {severity: getattr(config.alarm_emails, severity) for severity in SEVERITIES}
        if self.encryption_key is not None and config.encryption_key_arn is not None:
            wrong = "is given, and encryption_key_arn is set"
            yield Mistake(("encryption_key",), wrong, "one of the two")
        yield from _misplaced("tables", self.tables, tables, "sources.{}.table")
        yield from _misplaced("api_keys", self.api_keys, secrets, "targets.{}.api_key_secret_arn")
        yield from _misplaced("alarm_topics", self.topics, emails, "alarm_emails.{}")
        for name, table in self.tables.items():
            if table.table_stream_arn is None:
                allowed = "make it with stream=StreamViewType.NEW_IMAGE, or name its stream"
                yield Mistake(("tables", name), "has no stream", allowed)
            arn, account = _known(table.table_arn), _known(stack.account)
            if arn and account and arn.split(":")[4] != account:
                # Functions read it by its name.
                wrong = f"is in account {arn.split(':')[4]}, and the stack in {account}"
                yield Mistake(("tables", name), wrong, "a table of the stack's account")
        for name, secret in self.api_keys.items():
            if name in config.targets and not config.targets[name].has_api_key:
                wrong = f"is given, and provider {config.targets[name].provider} asks for no key"
                yield Mistake(("api_keys", name), wrong, "leave it out")
            if secret.secret_full_arn is None:
                # A grant on a part of the ARN would need a wildcard.
                allowed = "one made here, or Secret.from_secret_complete_arn"
                yield Mistake(("api_keys", name), "has no whole ARN", allowed)


def _known(value: str) -> str | None:
    """Return a name of AWS, if it is known before the deployment."""
    return None if Token.is_unresolved(value) else value


def _misplaced(
    place: str, given: Iterable[str], settings: Mapping[str, object], setting: str
) -> Iterator[Mistake]:
    """Find names that the settings do not know, and what the settings say too."""
    for name in given:
        if name not in settings:
            yield Mistake((place, name), "is no name of the settings", one_of(name, settings))
        elif settings[name]:
            wrong = f"is given, and {setting.format(name)} is set"
            yield Mistake((place, name), wrong, "one of the two")


def vpc_by_ids(
    scope: Construct,
    vpc: ec2.IVpc,
    subnets: Sequence[ec2.ISubnet] | None,
    security_groups: Sequence[ec2.ISecurityGroup] | None,
) -> VpcConfig:
    """Name a VPC as the settings do: by ids, which may be known only once it is deployed."""
    groups = security_groups or [ec2.SecurityGroup(scope, "SecurityGroup", vpc=vpc)]
    return VpcConfig.model_construct(
        id=vpc.vpc_id,
        subnets=tuple(subnet.subnet_id for subnet in subnets or vpc.private_subnets),
        security_groups=tuple(group.security_group_id for group in groups),
        # An app adds endpoints to a VPC of its own where it wants them.
        endpoints="exist",
        route_tables=(),
    )
