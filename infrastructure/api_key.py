"""The provider's API key: in Secrets Manager only, never in a template or an environment."""

from dataclasses import dataclass

from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infrastructure.config.stage import StageConfig
from infrastructure.removal import removal_policy


@dataclass(frozen=True)
class ApiKey:
    """A secret by what embed needs of it."""

    arn: str
    encryption_key_arn: str | None
    is_made_here: bool


def api_key(scope: Construct, id_: str, *, target_name: str, config: StageConfig) -> ApiKey:
    """Make the target's secret, empty, or take the existing one that the target names."""
    target = config.targets[target_name]
    if target.api_key_secret_arn is not None:
        return ApiKey(target.api_key_secret_arn, target.api_key_encryption_key_arn, False)
    # The low-level resource, because the construct above it invents a value, and a wrong key is
    # harder to notice than a missing one.
    secret = secretsmanager.CfnSecret(
        scope,
        id_,
        description=f"embedq: API key of the provider of target {target_name}",
        kms_key_id=config.encryption_key_arn,
    )
    secret.apply_removal_policy(removal_policy(config))
    return ApiKey(secret.ref, None, True)
