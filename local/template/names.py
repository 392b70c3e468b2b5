"""Physical names: the template's own where it gives one, else readable and the same every time."""

import hashlib
import re
import uuid
from collections.abc import Mapping
from typing import Any

# The CDK ends a logical id with eight digits that tell equal names apart.
_HASH = re.compile(r"[0-9A-F]{8}$")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# The shortest limit of all that are named here: buckets and functions take about this many.
_CHARACTERS = 63

NAME_PROPERTIES = {
    "AWS::DynamoDB::Table": "TableName",
    "AWS::Events::Rule": "Name",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::SecretsManager::Secret": "Name",
}


def physical_names(stack: str, resources: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Name every resource that the template leaves unnamed."""
    names: dict[str, str] = {}
    taken: set[tuple[str, str]] = set()
    for logical_id, resource in resources.items():
        kind = resource["Type"]
        suffix = ".fifo" if resource.get("Properties", {}).get("FifoQueue") else ""
        name = _readable(stack, _HASH.sub("", logical_id) or logical_id, suffix)
        if (kind, name) in taken:
            name = _readable(stack, logical_id, suffix)
        taken.add((kind, name))
        names[logical_id] = name
    return names


def mapping_id(stack: str, logical_id: str) -> str:
    """Give an event source mapping the kind of id that Lambda would, the same every time."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"embedq:{stack}:{logical_id}"))


def _readable(stack: str, words: str, suffix: str) -> str:
    name = f"{stack}-{_WORD_START.sub('-', words).lower()}"
    limit = _CHARACTERS - len(suffix)
    if len(name) > limit:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{name[: limit - 9].rstrip('-')}-{digest}"
    return name + suffix
