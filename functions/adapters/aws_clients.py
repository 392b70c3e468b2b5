"""How AWS clients wait: shortly, because the queue and the stream do the waiting."""

from botocore.config import Config

# botocore's own sixty seconds and four retries outlive a run.
CLIENT_CONFIG = Config(
    connect_timeout=2,
    read_timeout=8,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=20,
)
# For an addition to a number: repeated after an answer that was lost, it would be added twice.
ONCE_CONFIG = CLIENT_CONFIG.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
