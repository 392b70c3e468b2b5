"""Where embed keeps paid vectors of documents that did not complete, for their next attempt."""

from constructs import Construct

from infrastructure.private_bucket import PrivateBucket
from infrastructure.stage_config import StageConfig

OBJECT_PREFIX = "stash/"
KEPT_DAYS = 2


class Stash(PrivateBucket):
    """Keep vectors so that they are not paid twice."""

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        super().__init__(scope, id_, config=config, prefix=OBJECT_PREFIX, days=KEPT_DAYS)
