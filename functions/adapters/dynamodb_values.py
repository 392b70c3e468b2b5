"""DynamoDB's typed values <-> Python's."""

import base64
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

from boto3.dynamodb.types import DYNAMODB_CONTEXT, TypeDeserializer, TypeSerializer

LEAST_TOO_LONG = 10**38  # DynamoDB's numbers have 38 digits
# And up to this many with the zeros before the point, which it writes out.
WRITTEN_OUT = Context(prec=126)
# The smallest is 1E-130; boto3 ends two digits before it.
NUMBERS = DYNAMODB_CONTEXT.copy()
NUMBERS.Emin = -130


class _Deserializer(TypeDeserializer):
    """Also reads 1E+120, which DynamoDB answers with all its zeros, and the smallest numbers.

    boto3 refuses them, and one such item would fail all that are read with it.

    https://github.com/boto/boto3/issues/2500
    """

    def _deserialize_n(self, value: str) -> Decimal:
        is_long = len(value) > DYNAMODB_CONTEXT.prec
        number = Decimal(value).normalize(WRITTEN_OUT) if is_long else value
        return NUMBERS.create_decimal(number)


_DESERIALIZER = _Deserializer()
_SERIALIZER = TypeSerializer()


def from_dynamodb(item: Mapping[str, Any]) -> dict[str, Any]:
    """Turn {"id": {"S": "a"}} into {"id": "a"}."""
    return {name: _DESERIALIZER.deserialize(value) for name, value in item.items()}


def to_dynamodb(item: Mapping[str, Any]) -> dict[str, Any]:
    """Turn {"id": "a"} into {"id": {"S": "a"}}."""
    return {name: _spelled(value) for name, value in item.items()}


def _spelled(value: Any) -> Any:
    """Spell texts, whole numbers and objects, which most values are; boto3 takes longer."""
    if isinstance(value, str):
        return {"S": value}
    if type(value) is int and abs(value) < LEAST_TOO_LONG:
        return {"N": str(value)}
    if isinstance(value, dict):
        return {"M": to_dynamodb(value)}
    return _SERIALIZER.serialize(value)


def with_bytes(item: Mapping[str, Any]) -> dict[str, Any]:
    """Spell an item of a stream event as the SDK does: JSON carries bytes in base64."""
    return {name: _with_bytes(value) for name, value in item.items()}


def event_key(item: Mapping[str, Any], attributes: Sequence[str]) -> dict[str, dict[str, str]]:
    """Spell the key of an item as a stream event does: the opposite of `with_bytes`."""
    return {name: _without_bytes(item[name]) for name in attributes}


def _without_bytes(value: Mapping[str, Any]) -> dict[str, str]:
    match value:
        case {"B": bytes(content)}:
            return {"B": base64.b64encode(content).decode()}
        case _:
            return dict(value)


def _with_bytes(value: Any) -> Any:
    match value:
        case {"B": str(text)}:
            return {"B": base64.b64decode(text, validate=True)}
        case {"BS": [*texts]}:
            return {"BS": [_with_bytes({"B": text})["B"] for text in texts]}
        case {"L": [*parts]}:
            return {"L": [_with_bytes(part) for part in parts]}
        case {"M": dict(inner)}:
            return {"M": with_bytes(inner)}
        case _:
            return value
