"""How AWS clients wait: shortly, because the queue and the stream do the waiting."""

from botocore.config import Config

# botocore's own sixty seconds and four retries outlive a run.
CLIENT_CONFIG = Config(
    connect_timeout=2,
    read_timeout=8,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=20,
)
