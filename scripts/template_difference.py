"""Two templates of one stack -> what CloudFormation does with each resource. Pure.

What needs a new resource is known from the schemas of the resource types, which cfn-lint carries.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from cfnlint.schema.manager import (  # type: ignore[import-untyped]
    PROVIDER_SCHEMA_MANAGER,
)

Resource = Mapping[str, Any]
Template = Mapping[str, Any]

# The schemas are the same in all regions for all that we use.
REGION = "eu-west-1"
# Index_setup names the resource after its index: another name is another resource.
OUR_OWN = {"Custom::EmbedqIndex": ("Index",)}
# Not in the schema, but in the words of the type's page: "Replacement if you edit an existing
# AttributeDefinition".
FIXED_TOO = {"AWS::DynamoDB::Table": ("AttributeDefinitions",)}
# What no two resources of an account can share, whatever their logical ids.
UNIQUE = {
    "AWS::SQS::Queue": ("QueueName",),
    "AWS::IAM::Role": ("RoleName",),
    "AWS::OpenSearchService::Domain": ("DomainName",),
    # https://github.com/aws/serverless-application-model/issues/1690
    "AWS::Lambda::EventSourceMapping": ("FunctionName", "EventSourceArn"),
}
ABSENT = object()


class Effect(StrEnum):
    """What an update does with a resource."""

    ADDS = "adds"
    CHANGES = "changes in place"
    REPLACES = "replaces, and deletes the old one"
    REPLACES_AND_KEEPS = "replaces, and keeps the old one"
    DELETES = "deletes"
    LEAVES = "leaves in the account, outside the stack"


@dataclass(frozen=True, order=True)
class Difference:
    """What an update does with one resource."""

    effect: Effect
    kind: str
    name: str  # its logical id
    is_refused: bool = False  # its name is taken while the old one is there


def difference(
    before: Template, after: Template, left: Mapping[str, Resource] | None = None
) -> list[Difference]:
    """List every resource that an update touches; `left` are those of an earlier stack."""
    old, new = before["Resources"], after["Resources"]
    replaced = _replaced(old, new)
    there = [*old.values(), *(left or {}).values()]
    taken = {_identity(resource) for resource in there} - {None}
    found = []
    for name in sorted(old.keys() | new.keys()):
        effect = _effect(name, old, new, replaced)
        if effect is not None:
            resource = new.get(name) or old[name]
            is_made = effect is Effect.ADDS or name in replaced
            identity = _identity(resource)
            # One that names a new resource is another one, although it reads the same.
            is_refused = is_made and identity in taken and not _names(identity, replaced)
            found.append(Difference(effect, resource["Type"], name, is_refused))
    return found


def _effect(
    name: str, old: Mapping[str, Resource], new: Mapping[str, Resource], replaced: set[str]
) -> Effect | None:
    if name not in old:
        return Effect.ADDS
    if name not in new:
        return Effect.LEAVES if _keeps(old[name], "DeletionPolicy") else Effect.DELETES
    if name in replaced:
        is_kept = _keeps(new[name], "UpdateReplacePolicy")
        return Effect.REPLACES_AND_KEEPS if is_kept else Effect.REPLACES
    return Effect.CHANGES if old[name] != new[name] else None


def _keeps(resource: Resource, policy: str) -> bool:
    # Index_setup deletes no index, whatever the policy.
    return resource["Type"] in OUR_OWN or str(resource.get(policy)).startswith("Retain")


def _replaced(old: Mapping[str, Resource], new: Mapping[str, Resource]) -> set[str]:
    """Find resources that are made anew, also because of a new one that they name."""
    found: set[str] = set()
    while True:
        more = {
            name
            for name in old.keys() & new.keys() - found
            if old[name]["Type"] != new[name]["Type"]
            or any(
                _value(old[name], path) != _value(new[name], path)
                or _names(_value(new[name], path), found)
                for path in _fixed(new[name]["Type"])
            )
        }
        if not more:
            return found
        found |= more


@cache
def _fixed(kind: str) -> tuple[tuple[str, ...], ...]:
    """Return the paths of a type's properties that cannot change in place."""
    if kind in OUR_OWN:
        return (OUR_OWN[kind],)
    schema: dict[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, kind).schema
    pointers = [
        *schema.get("createOnlyProperties", []),
        *schema.get("conditionalCreateOnlyProperties", []),
    ]
    fixed = [tuple(pointer.removeprefix("/properties/").split("/")) for pointer in pointers]
    return (*fixed, FIXED_TOO[kind]) if kind in FIXED_TOO else tuple(fixed)


def _value(resource: Resource, path: tuple[str, ...]) -> Any:
    value: Any = resource.get("Properties", {})
    for part in path:
        value = value.get(part, ABSENT) if isinstance(value, Mapping) else ABSENT
    return value


def _names(value: Any, resources: set[str]) -> bool:
    # By text: logical ids are unlike all else, also where one stands for a name in an ARN.
    text = json.dumps(value, default=str)
    return any(name in text for name in resources)


def _identity(resource: Resource) -> str | None:
    """Return what no other resource can share with this one; None if AWS names it."""
    paths = UNIQUE.get(resource["Type"], ())
    values = [_value(resource, (path,)) for path in paths]
    if not values or ABSENT in values:
        return None
    return json.dumps([resource["Type"], *values], sort_keys=True)
