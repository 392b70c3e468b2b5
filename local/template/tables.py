"""AWS::DynamoDB::Table -> CreateTable."""

from collections.abc import Mapping
from typing import Any

from local.specs import TableSpec

# What CreateTable takes under the same name and in the same shape. Encryption, backups and tags
# mean nothing on one machine.
_SAME = (
    "AttributeDefinitions",
    "BillingMode",
    "GlobalSecondaryIndexes",
    "KeySchema",
    "LocalSecondaryIndexes",
    "ProvisionedThroughput",
)


def table_spec(name: str, properties: Mapping[str, Any]) -> TableSpec:
    """Read a table, its indexes, its stream and its time to live."""
    create: dict[str, Any] = {"TableName": name}
    create |= {key: properties[key] for key in _SAME if key in properties}
    if stream := properties.get("StreamSpecification"):
        # In a template the specification is there or not; the API wants it said.
        view = stream["StreamViewType"]
        create["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    ttl = properties.get("TimeToLiveSpecification", {})
    return TableSpec(name, create, ttl.get("AttributeName") if ttl.get("Enabled") else None)
