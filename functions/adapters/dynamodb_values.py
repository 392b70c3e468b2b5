"""DynamoDB's typed values <-> Python's."""

from collections.abc import Mapping
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

_DESERIALIZER = TypeDeserializer()
_SERIALIZER = TypeSerializer()


def from_dynamodb(item: Mapping[str, Any]) -> dict[str, Any]:
    """Turn {"id": {"S": "a"}} into {"id": "a"}."""
    return {name: _DESERIALIZER.deserialize(value) for name, value in item.items()}


def to_dynamodb(item: Mapping[str, Any]) -> dict[str, Any]:
    """Turn {"id": "a"} into {"id": {"S": "a"}}."""
    return {name: _SERIALIZER.serialize(value) for name, value in item.items()}
