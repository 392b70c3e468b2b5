"""Names that the functions and the stack that deploys them must agree on."""

import re

METRICS_NAMESPACE = "embedq"
EVENT_SOURCE = "embedq"
# The ledger's sparse index.
OPEN_INDEX = "open"
# Items of the ledger's table that are no rows have keys below this one.
CONTROL_PREFIX = "control"
# Below these the buckets have their objects. Lambda chooses the first one:
# https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-errors.html
FAILED_CHANGES_PREFIX = "aws/lambda/"
STASH_PREFIX = "stash/"
STASH_DAYS = 2
# Addresses that OpenSearch Service gives its domains, and nobody else gets.
_SERVICE_HOST = re.compile(r"\.es\.amazonaws\.com(\.cn)?$|\.aos\.[a-z0-9-]+\.on\.aws$")


def is_service_host(host: str) -> bool:
    """Tell whether an address is that of a domain of OpenSearch Service."""
    return _SERVICE_HOST.search(host) is not None


def tenant_item(target: str, tenant: str) -> str:
    """Name the item, below the control prefix, with what a tenant of a target has spent."""
    return f"tenant/{target}/{tenant}"


def read_alias(index: str) -> str:
    """Name the alias that searches resolve; writers never use it, so that it can move alone."""
    return f"{index}-read"


def first_index(index: str) -> str:
    """Name the index that a deployment makes behind the alias of a target."""
    return f"{index}-1"
