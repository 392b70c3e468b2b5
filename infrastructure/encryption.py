"""A KMS key of the user's own: everything that a stage makes and that holds data is under it."""

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infrastructure.config.stage import StageConfig

# What DynamoDB, SQS and S3 do with a key when a function reads or writes.
USE_KEY = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey")
SERVICES = ("dynamodb", "lambda", "s3", "secretsmanager", "sqs")


def own_key(scope: Construct, config: StageConfig) -> kms.IKey | None:
    """Return the key of a stage for what is made in a scope; None: keys of AWS."""
    arn = config.encryption_key_arn
    return None if arn is None else kms.Key.from_key_arn(scope, "OwnKey", arn)


def table_encryption(key: kms.IKey | None) -> dynamodb.TableEncryption:
    """Encrypt a table with the key, or with that of AWS."""
    kinds = dynamodb.TableEncryption
    return kinds.AWS_MANAGED if key is None else kinds.CUSTOMER_MANAGED


def let_use(role: iam.Role, key: kms.IKey) -> None:
    """Let a function's role use the key, through the services that hold the stage's data."""
    role.add_to_policy(
        iam.PolicyStatement(
            actions=list(USE_KEY), resources=[key.key_arn], conditions=via(role, *SERVICES)
        )
    )


def via(scope: Construct, *services: str) -> dict[str, dict[str, Any]]:
    """Limit the use of a key to calls that services make for a role.

    https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html
    """
    hosts = [f"{service}.{Stack.of(scope).region}.amazonaws.com" for service in services]
    return {"StringEquals": {"kms:ViaService": hosts[0] if len(hosts) == 1 else hosts}}


def let_logs_use(key: kms.IKey) -> None:
    """Let CloudWatch Logs use a key that the app itself has made; others have their own policy.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    """
    stack = Stack.of(key)
    groups = stack.format_arn(service="logs", resource="log-group:*")
    key.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
            actions=["kms:Decrypt", "kms:Describe*", "kms:Encrypt", "kms:GenerateDataKey*",
                     "kms:ReEncrypt*"],
            resources=["*"],  # In a key's own policy this means the key.
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
        )
    )  # fmt: skip
