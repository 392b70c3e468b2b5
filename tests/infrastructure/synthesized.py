"""A synthesized stage as its tests see it: resources by type, references as plain text.

The stages are the tests' own, so that the checkout's cdk.json may hold anything.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infrastructure.config.file import read_context

ROOT = Path(__file__).resolve().parents[2]
# What the cdk command of this version writes into a new cdk.json.
FLAGS: dict[str, Any] = json.loads(
    (ROOT / "node_modules/aws-cdk/lib/init-templates/.recommended-feature-flags.json").read_text()
)
CONTEXT: dict[str, Any] = {**FLAGS, **read_context(Path(__file__).with_name("cdk.json"))}

Resource = dict[str, Any]


@dataclass(frozen=True)
class Synthesized:
    """One stage's template, and where it lies."""

    stage: str
    path: Path
    template: dict[str, Any]

    def resources(self, kind: str) -> dict[str, Resource]:
        """Return the resources of a CloudFormation type by logical id."""
        return {
            name: resource
            for name, resource in self.template["Resources"].items()
            if resource["Type"] == kind
        }

    def properties(self, kind: str) -> list[dict[str, Any]]:
        """Return the properties of every resource of a type, with references as text."""
        return [text(resource["Properties"]) for resource in self.resources(kind).values()]

    def queues(self) -> dict[str, dict[str, Any]]:
        """Return the queues by name."""
        return {queue["QueueName"]: queue for queue in self.properties("AWS::SQS::Queue")}

    def functions(self, folder: str) -> dict[str, dict[str, Any]]:
        """Return the properties of the functions that run a folder, by logical id."""
        handler = f"functions.{folder}.handler.lambda_handler"
        return {
            name: text(resource["Properties"])
            for name, resource in self.resources("AWS::Lambda::Function").items()
            if resource["Properties"]["Handler"] == handler
        }

    def mappings(self, function: str) -> list[dict[str, Any]]:
        """Return the event source mappings of a function, given by logical id."""
        found = self.properties("AWS::Lambda::EventSourceMapping")
        return [mapping for mapping in found if function in mapping["FunctionName"]]


def text(value: Any) -> Any:
    """Replace each reference inside a value by plain text."""
    match value:
        case {"Ref": str(name)}:
            return name
        case {"Fn::GetAtt": [*names]}:
            return ".".join(names)
        case {"Fn::Join": [str(separator), [*parts]]}:
            return separator.join(text(part) for part in parts)
        case dict():
            return {key: text(part) for key, part in value.items()}
        case list():
            return [text(part) for part in value]
        case _:
            return value


def as_list(value: Any) -> list[Any]:
    """Return a list, also of one: a policy may spell it either way."""
    return value if isinstance(value, list) else [value]
