"""AWS::SQS::Queue -> CreateQueue."""

import json
from collections.abc import Mapping
from typing import Any

from local.specs import QueueSpec

_NOT_ATTRIBUTES = ("QueueName", "Tags")


def queue_spec(name: str, properties: Mapping[str, Any]) -> QueueSpec:
    """Read a queue: in a template its attributes are properties of the same names."""
    return QueueSpec(
        name,
        {key: _text(value) for key, value in properties.items() if key not in _NOT_ATTRIBUTES},
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
