"""Two topics, warning and critical: yours, or made here and mailed to the addresses in cdk.json."""

from collections.abc import Mapping
from functools import cached_property

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infrastructure.config.stage import StageConfig
from infrastructure.removal import removal_policy


class AlarmTopics(Construct):
    """Send each alarm to the addresses of its severity. What is made is encrypted, TLS only."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        config: StageConfig,
        given: Mapping[str, sns.ITopic],
    ) -> None:
        super().__init__(scope, id_)
        self._config = config
        emails = config.alarm_emails
        self.warning = given.get("warning") or self._topic("Warning", emails.warning)
        self.critical = given.get("critical") or self._topic("Critical", emails.critical)
        # Who listens to a topic of the user's own is not known here.
        self.reaches_no_person = "critical" not in given and not emails.critical

    @cached_property
    def _key(self) -> kms.Key:
        # A key of our own: CloudWatch cannot publish to a topic under the key of AWS.
        # https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
        key = kms.Key(
            self, "Key", enable_key_rotation=True, removal_policy=removal_policy(self._config)
        )
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[_CLOUDWATCH],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],  # In a key's own policy this means the key.
                conditions=self._from_here(),
            )
        )
        return key

    def _topic(self, id_: str, emails: tuple[str, ...]) -> sns.Topic:
        topic = sns.Topic(self, id_, master_key=self._key, enforce_ssl=True)
        for email in emails:
            topic.add_subscription(subscriptions.EmailSubscription(email))
        # A policy that demands TLS replaces the default one, which let the account's alarms in.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[_CLOUDWATCH],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions=self._from_here(),
            )
        )
        return topic

    def _from_here(self) -> dict[str, dict[str, str]]:
        return {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}


_CLOUDWATCH = iam.ServicePrincipal("cloudwatch.amazonaws.com")
