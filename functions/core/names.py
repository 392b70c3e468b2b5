"""Names that the functions and the stack that deploys them must agree on."""

METRICS_NAMESPACE = "embedq"
EVENT_SOURCE = "embedq"
# The ledger's sparse index.
OPEN_INDEX = "open"
