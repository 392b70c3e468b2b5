"""Where Lambda leaves stream records that enqueue could not take, whole, to be replayed."""

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infrastructure.acknowledgments import acknowledge
from infrastructure.removal import removal_policy
from infrastructure.stage_config import StageConfig

# https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-errors.html
OBJECT_PREFIX = "aws/lambda/"


class FailedChanges(Construct):
    """Keep changes that ran out of retries."""

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        super().__init__(scope, id_)
        # S3, because a queue as destination gets only a record's position, and the stream
        # forgets the record itself after a day.
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[
                s3.LifecycleRule(
                    expiration=Duration.days(30),
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                )
            ],
            removal_policy=removal_policy(config),
        )
        self.objects_arn = self.bucket.arn_for_objects(f"{OBJECT_PREFIX}*")
        acknowledge(
            self, "S1", "Written by Lambda and read by operators only; CloudTrail covers access."
        )
