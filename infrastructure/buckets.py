"""Buckets for what the functions set aside: private, encrypted, TLS only, for some days."""

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from functions.core.names import FAILED_CHANGES_PREFIX, STASH_PREFIX
from infrastructure.config.stage import StageConfig
from infrastructure.encryption import own_key
from infrastructure.removal import removal_policy


class PrivateBucket(Construct):
    """Keep objects below one prefix for some days."""

    def __init__(
        self, scope: Construct, id_: str, *, config: StageConfig, prefix: str, days: int
    ) -> None:
        super().__init__(scope, id_)
        key = own_key(self, config)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            # One call of KMS for many objects.
            bucket_key_enabled=True if key else None,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[
                s3.LifecycleRule(
                    expiration=Duration.days(days),
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                )
            ],
            removal_policy=removal_policy(config),
        )
        self.objects_arn = self.bucket.arn_for_objects(f"{prefix}*")


def failed_changes(scope: Construct, config: StageConfig) -> PrivateBucket:
    """Keep stream records that enqueue could not take, whole, to be replayed."""
    # S3, because a queue as destination gets only a record's position, and the stream keeps
    # the record itself for a day only.
    return PrivateBucket(
        scope,
        "FailedChanges",
        config=config,
        prefix=FAILED_CHANGES_PREFIX,
        days=config.retention.failed_changes,
    )


def stash(scope: Construct, config: StageConfig) -> PrivateBucket:
    """Keep paid vectors of documents that did not complete, for their next attempt."""
    days = config.retention.stash
    return PrivateBucket(scope, "Stash", config=config, prefix=STASH_PREFIX, days=days)
