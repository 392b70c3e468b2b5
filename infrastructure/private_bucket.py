"""A bucket for what the functions set aside: private, encrypted, TLS only, and it forgets."""

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infrastructure.acknowledgments import acknowledge
from infrastructure.removal import removal_policy
from infrastructure.stage_config import StageConfig


class PrivateBucket(Construct):
    """Keep objects below one prefix for some days."""

    def __init__(
        self, scope: Construct, id_: str, *, config: StageConfig, prefix: str, days: int
    ) -> None:
        super().__init__(scope, id_)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
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
        acknowledge(
            self, "S1", "Only functions and operators use it; CloudTrail can log their access."
        )
