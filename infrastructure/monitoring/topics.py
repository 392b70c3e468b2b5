"""Two topics, warning and critical: encrypted, TLS only, mailed to the addresses in cdk.json."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infrastructure.config.stage import StageConfig
from infrastructure.removal import removal_policy


class AlarmTopics(Construct):
    """Send each alarm to the addresses of its severity."""

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        super().__init__(scope, id_)
        # A key of our own: CloudWatch cannot publish to a topic under the key of AWS.
        # https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
        self._key = kms.Key(
            self, "Key", enable_key_rotation=True, removal_policy=removal_policy(config)
        )
        self._key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[_CLOUDWATCH],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],  # In a key's own policy this means the key.
                conditions=self._from_here(),
            )
        )
        self.warning = self._topic("Warning", config.alarm_emails.warning)
        self.critical = self._topic("Critical", config.alarm_emails.critical)

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
