"""Where Lambda leaves stream records that enqueue could not take, whole, to be replayed."""

from constructs import Construct

from infrastructure.private_bucket import PrivateBucket
from infrastructure.stage_config import StageConfig

# https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-errors.html
OBJECT_PREFIX = "aws/lambda/"
KEPT_DAYS = 30


class FailedChanges(PrivateBucket):
    """Keep changes that ran out of retries."""

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        # S3, because a queue as destination gets only a record's position, and the stream
        # forgets the record itself after a day.
        super().__init__(scope, id_, config=config, prefix=OBJECT_PREFIX, days=KEPT_DAYS)
